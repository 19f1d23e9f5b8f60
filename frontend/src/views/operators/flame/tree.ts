/**
 * Call paths as a tree of columns, for one measure.
 *
 *     step 9           parent   -1  0  1  2  1
 *       linear 7       value     9  9  7  7  2
 *         gemm 7
 *       gelu 2
 */

import type { FlamePage } from "../../../api.gen";
import { cached } from "../../../cached";
import { lineName } from "../../../code_line";

export type Kind = FlamePage["kinds"][number];
export type Measure = "device" | "host" | "idle" | "bytes";

export interface Tree {
  names: readonly string[];
  kinds: readonly Kind[];
  /** The parent of each frame, which precedes its children; the first frame is the root. */
  parent: Int32Array;
  label: Int32Array;
  /** Including everything below the frame, ns or bytes. */
  value: Float64Array;
  /** The number of frames that a "(smaller)" one stands for; 0 for others. */
  merged: Int32Array;
  /** How often the frame was called in the steps; 0: not known. */
  calls: Int32Array;
}

/** Frames without cost in the measure stay in the tree: they are not drawn. */
export const treeOf = (page: FlamePage, measure: Measure): Tree => ({
  ...columnsOf(page),
  value: numbersIn(valuesOf(page, measure) ?? ""),
});

/** The columns that all measures share, computed once per page. */
const columns = new WeakMap<FlamePage, Omit<Tree, "value">>();

const columnsOf = (page: FlamePage): Omit<Tree, "value"> => cached(columns, page, () => readColumns(page));

function readColumns(page: FlamePage): Omit<Tree, "value"> {
  const [parent, label, merged, calls] = [page.parent, page.label, page.merged, page.calls].map((column) =>
    Int32Array.from(numbersIn(column)),
  ) as [Int32Array, Int32Array, Int32Array, Int32Array];
  return { names: page.names, kinds: page.kinds, parent, label, merged, calls };
}

const [COMMA, MINUS, ZERO] = [44, 45, 48];

/**
 * Reads whole numbers such as "-1,0,12" letter by letter: splitting the text into a hundred thousand pieces would take
 * far longer.
 */
export function numbersIn(text: string): Float64Array {
  const found = new Float64Array((text.length + 1) >> 1);
  let [count, value, sign] = [0, 0, 1];
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === COMMA) {
      found[count++] = sign * value;
      [value, sign] = [0, 1];
    } else if (letter === MINUS) sign = -1;
    else value = 10 * value + (letter - ZERO);
  }
  if (text !== "") found[count++] = sign * value;
  return found.slice(0, count);
}

const valuesOf = (page: FlamePage, measure: Measure): string | null =>
  ({ device: page.device_ns, host: page.host_ns, idle: page.idle_ns, bytes: page.allocated_bytes })[measure];

export const measuresOf = (page: FlamePage): Measure[] =>
  (["device", "host", "idle", "bytes"] as const).filter((each) => Number.parseInt(valuesOf(page, each) ?? "", 10) > 0);

/** The own cost of each frame, without the frames below it. */
export function ownOf({ parent, value }: Tree): Float64Array {
  const own = value.slice();
  for (let at = 1; at < own.length; at++) own[parent[at]!]! -= value[at]!;
  return own;
}

export function pathTo({ parent }: Tree, at: number): number[] {
  const path: number[] = [];
  for (let frame = at; frame >= 0; frame = parent[frame]!) path.push(frame);
  return path.reverse();
}

export interface Hits {
  /** 1 for each label that matches. */
  labels: Uint8Array;
  /** The cost of the matching frames; a frame inside another one is not counted twice. */
  sum: number;
  frames: number;
}

/** Frames whose name contains the typed text, in any case, as recorded or as shown; null: nothing is typed. */
export function hitsOf({ names, parent, label, value }: Tree, typed: string): Hits | null {
  const needle = typed.trim().toLowerCase();
  if (needle === "") return null;
  const labels = Uint8Array.from(names, (name) => Number(`${name}\n${lineName(name)}`.toLowerCase().includes(needle)));
  const inside = new Uint8Array(parent.length);
  let [sum, frames] = [0, 0];
  for (let at = 1; at < parent.length; at++) {
    const above = inside[parent[at]!]!;
    const found = value[at]! > 0 ? labels[label[at]!]! : 0;
    inside[at] = above | found;
    if (!found) continue;
    frames++;
    if (!above) sum += value[at]!;
  }
  return { labels, sum, frames };
}

interface Largest {
  label: number;
  /** The cost of all its frames; a frame inside one of the same name is not counted twice. */
  value: number;
  own: number;
}

/** Costs by name, the highest own cost first. */
export function largestOf(tree: Tree): Largest[] {
  const own = ownOf(tree);
  const found = new Map<number, Largest>();
  for (let at = 1; at < own.length; at++) {
    const label = tree.label[at]!;
    const row = found.get(label) ?? { label, value: 0, own: 0 };
    found.set(label, row);
    row.own += own[at]!;
    if (isOutermost(tree, at)) row.value += tree.value[at]!;
  }
  return [...found.values()].filter(({ value }) => value > 0).sort((a, b) => b.own - a.own || b.value - a.value);
}

function isOutermost({ parent, label }: Tree, at: number): boolean {
  for (let above = parent[at]!; above > 0; above = parent[above]!) if (label[above] === label[at]) return false;
  return true;
}
