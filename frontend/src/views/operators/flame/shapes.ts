/**
 * The same costs as other trees: inverted, from callees to their callers, and without the frames of some kinds.
 *
 *     step 9          up   gemm 7          without ops   step 9
 *       linear 7             linear 7                      gemm 7
 *         gemm 7               step 7
 *       gelu 2             gelu 2
 *                            step 2
 */

import { type Kind, ownOf, type Tree } from "./tree";

/** In the inverted tree, callers below this share of the whole are left out: each frame may have many. */
const LEAST_CALLED = 1 / 20_000;

/** A tree under construction. */
class Growing {
  size = 1;
  parent: Int32Array;
  label: Int32Array;
  value: Float64Array;
  merged: Int32Array;
  calls: Int32Array;

  /** `of` is the tree from which it is built; its size is the initial capacity. */
  constructor(private readonly of: Tree) {
    const room = Math.max(2, of.parent.length);
    this.parent = new Int32Array(room);
    this.label = new Int32Array(room);
    this.value = new Float64Array(room);
    this.merged = new Int32Array(room);
    this.calls = new Int32Array(room);
    this.parent[0] = -1;
    this.label[0] = of.label[0]!;
    this.value[0] = of.value[0] ?? 0;
  }

  add(parent: number, label: number): number {
    if (this.size === this.parent.length) this.grow();
    this.parent[this.size] = parent;
    this.label[this.size] = label;
    return this.size++;
  }

  private grow(): void {
    const room = 2 * this.size;
    this.parent = copied(this.parent, new Int32Array(room));
    this.label = copied(this.label, new Int32Array(room));
    this.value = copied(this.value, new Float64Array(room));
    this.merged = copied(this.merged, new Int32Array(room));
    this.calls = copied(this.calls, new Int32Array(room));
  }

  asTree(): Tree {
    const { names, kinds } = this.of;
    const [parent, label] = [this.parent.slice(0, this.size), this.label.slice(0, this.size)];
    const [merged, calls] = [this.merged.slice(0, this.size), this.calls.slice(0, this.size)];
    return { names, kinds, parent, label, value: this.value.slice(0, this.size), merged, calls };
  }
}

function copied<Column extends Int32Array | Float64Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}

/** Stacks that are followed from the frame that spends the time up to the root. */
interface Climb {
  /** The frame that spends the time. */
  stack: Int32Array;
  /** The current frame of each stack, and the node of the previous one. */
  frame: Int32Array;
  node: Int32Array;
}

/** The same costs with callees on top and their callers below, built row by row. */
export function turned(tree: Tree): Tree {
  const own = ownOf(tree);
  const up = new Growing(tree);
  const least = LEAST_CALLED * (tree.value[0] ?? 0);
  let climb = spending(own);
  for (let row = 0; climb.stack.length > 0; row++) {
    addRow(up, climb, tree, own);
    if (row === 0) addCounts(up, climb, tree);
    climb = callers(climb, tree, (node) => up.value[node]! >= least);
  }
  return up.asTree();
}

function spending(own: Float64Array): Climb {
  const stack = new Int32Array(own.length);
  let size = 0;
  for (let at = 1; at < own.length; at++) if (own[at]! > 0) stack[size++] = at;
  return { stack: stack.subarray(0, size), frame: stack.slice(0, size), node: new Int32Array(size) };
}

/** Adds the nodes of the current frames below those of the previous ones. */
function addRow(up: Growing, { stack, frame, node }: Climb, { label }: Tree, own: Float64Array): void {
  const places = new Pairs(stack.length);
  const first = up.size;
  for (let each = 0; each < stack.length; each++) {
    const named = label[frame[each]!]!;
    const place = first + places.number(node[each]!, named);
    if (place === up.size) up.add(node[each]!, named);
    up.value[place]! += own[stack[each]!]!;
    node[each] = place;
  }
}

/**
 * Adds the counts of the frames that spend the time, not of their callers, which were called for other things as well.
 */
function addCounts(up: Growing, { stack, node }: Climb, { merged, calls }: Tree): void {
  for (let each = 0; each < stack.length; each++) {
    up.merged[node[each]!]! += merged[stack[each]!]!;
    up.calls[node[each]!]! += calls[stack[each]!]!;
  }
}

function callers({ stack, frame, node }: Climb, { parent }: Tree, isLarge: (node: number) => boolean): Climb {
  let size = 0;
  for (let each = 0; each < stack.length; each++) {
    const caller = parent[frame[each]!]!;
    if (caller <= 0 || !isLarge(node[each]!)) continue;
    stack[size] = stack[each]!;
    node[size] = node[each]!;
    frame[size++] = caller;
  }
  return { stack: stack.subarray(0, size), frame: frame.subarray(0, size), node: node.subarray(0, size) };
}

/**
 * Removes frames of these kinds and adds their cost to their callers; frames of the same name that end up under one
 * caller are merged. All sums stay the same.
 */
export function without(tree: Tree, hidden: ReadonlySet<Kind>): Tree {
  if (hidden.size === 0) return tree;
  const left = new Growing(tree);
  const places = new Pairs(tree.parent.length);
  const isHidden = Uint8Array.from(tree.kinds, (kind) => Number(hidden.has(kind)));
  const node = new Int32Array(tree.parent.length);
  for (let at = 1; at < node.length; at++) {
    const around = node[tree.parent[at]!]!;
    const label = tree.label[at]!;
    node[at] = around;
    if (isHidden[label]) continue;
    const place = 1 + places.number(around, label);
    node[at] = place === left.size ? left.add(around, label) : place;
    left.value[place]! += tree.value[at]!;
    left.merged[place]! += tree.merged[at]!;
    left.calls[place]! += tree.calls[at]!;
  }
  return left.asTree();
}

const LEAST_ROOM = 1024;
const NONE = -1;

/**
 * Assigns numbers to pairs of numbers, such as a node and the label below it: a hash table in typed arrays, because a
 * `Map` of texts or large numbers takes ten times as long for a hundred thousand pairs.
 */
export class Pairs {
  size = 0;
  private room = LEAST_ROOM;
  private place: Int32Array;
  private firsts: Int32Array;
  private seconds: Int32Array;

  /** expected: the number of pairs; there may be more. */
  constructor(expected = 0) {
    while (this.room < 2 * expected) this.room *= 2;
    this.place = new Int32Array(this.room).fill(NONE);
    this.firsts = new Int32Array(this.room / 2);
    this.seconds = new Int32Array(this.room / 2);
  }

  /** Returns the number of a pair; a new pair gets the previous size as its number. */
  number(first: number, second: number): number {
    const slot = this.slotOf(first, second);
    const place = this.place[slot]!;
    if (place !== NONE) return place;
    if (this.size === this.firsts.length) {
      this.grow();
      return this.number(first, second);
    }
    this.firsts[this.size] = first;
    this.seconds[this.size] = second;
    this.place[slot] = this.size;
    return this.size++;
  }

  private slotOf(first: number, second: number): number {
    const mask = this.room - 1;
    let slot = mixed(first, second) & mask;
    for (let place = this.place[slot]!; place !== NONE; place = this.place[slot]!) {
      if (this.firsts[place] === first && this.seconds[place] === second) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private grow(): void {
    this.room *= 2;
    this.firsts = larger(this.firsts);
    this.seconds = larger(this.seconds);
    this.place = new Int32Array(this.room).fill(NONE);
    for (let each = 0; each < this.size; each++)
      this.place[this.slotOf(this.firsts[each]!, this.seconds[each]!)] = each;
  }
}

function larger(column: Int32Array): Int32Array {
  const next = new Int32Array(2 * column.length);
  next.set(column);
  return next;
}

/** A 32-bit hash of both numbers. */
export function mixed(first: number, second: number): number {
  let mark = Math.imul(first ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(second + 0x7f4a7c15, 0xc2b2ae35);
  mark = Math.imul(mark ^ (mark >>> 15), 0x2c1b3c6d);
  return mark ^ (mark >>> 13);
}
