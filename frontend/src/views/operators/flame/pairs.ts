/**
 * Assigns numbers to pairs of numbers, such as a node and the label below it: a hash table in typed arrays, because a
 * `Map` of texts or large numbers takes ten times as long for a hundred thousand pairs.
 */

const LEAST_ROOM = 1024;
const NONE = -1;

export class Pairs {
  /** How many pairs have a number. */
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
    const known = this.place[slot]!;
    if (known !== NONE) return known;
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
    for (let known = this.place[slot]!; known !== NONE; known = this.place[slot]!) {
      if (this.firsts[known] === first && this.seconds[known] === second) break;
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
