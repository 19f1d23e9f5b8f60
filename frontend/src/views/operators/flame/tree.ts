/**
 * Call paths as a tree of columns: for one measure, from the callers down or from what is called up.
 *
 *     down   step 9            up   gemm 7
 *              linear 7               linear 7
 *                gemm 7                 step 7
 *              gelu 2              gelu 2
 *                                     step 2
 */

import type { FlamePage } from "../../../api.gen";

export type Kind = FlamePage["kinds"][number];
export type Measure = "device" | "host" | "idle" | "bytes";

export interface Tree {
  names: readonly string[];
  kinds: readonly Kind[];
  /** Of each frame, a parent before its children; the first is the whole. */
  parent: readonly number[];
  label: readonly number[];
  /** With all below it. */
  value: readonly number[];
  /** Frames that a "(smaller)" one stands for; 0 for others. */
  merged: readonly number[];
}

/** Frames of no worth in the measure are left in: they are not drawn. */
export const treeOf = (page: FlamePage, measure: Measure): Tree => ({ ...page, value: valuesOf(page, measure) ?? [] });

export const valuesOf = (page: FlamePage, measure: Measure): readonly number[] | null =>
  ({ device: page.device_ns, host: page.host_ns, idle: page.idle_ns, bytes: page.allocated_bytes })[measure];

/** Those that the recording tells. */
export const measuresOf = (page: FlamePage): Measure[] =>
  (["device", "host", "idle", "bytes"] as const).filter((each) => (valuesOf(page, each)?.[0] ?? 0) > 0);

/** Of each frame what is in none below it. */
export function ownOf({ parent, value }: Tree): number[] {
  const own = [...value];
  for (let at = 1; at < own.length; at++) own[parent[at]!]! -= value[at]!;
  return own;
}

/** The same sums from what is called to its callers. */
export function turned(tree: Tree): Tree {
  const own = ownOf(tree);
  const [parent, label, value, merged] = [[-1], [tree.label[0]!], [tree.value[0] ?? 0], [0]];
  const known = new Map<number, number>();
  const labels = tree.names.length;
  for (let at = 1; at < own.length; at++) {
    if (own[at] === 0) continue;
    let node = 0;
    for (let frame = at; frame > 0; frame = tree.parent[frame]!) {
      const key = node * labels + tree.label[frame]!;
      let next = known.get(key);
      if (next === undefined) {
        next = parent.length;
        known.set(key, next);
        parent.push(node);
        label.push(tree.label[frame]!);
        value.push(0);
        merged.push(0);
      }
      value[next]! += own[at]!;
      if (frame === at) merged[next]! += tree.merged[at]!;
      node = next;
    }
  }
  return { ...tree, parent, label, value, merged };
}

/** Where each frame stands: beside its siblings, the largest first, in the row of its depth. */
export interface Layout {
  /** In the measure's unit, from the left. */
  from: Float64Array;
  depth: Int32Array;
  /** Frames of each depth, from left to right. */
  rows: number[][];
}

export function layoutOf({ parent, value }: Tree): Layout {
  const children = parent.map((): number[] => []);
  for (let at = 1; at < parent.length; at++) if (value[at]! > 0) children[parent[at]!]!.push(at);
  const from = new Float64Array(parent.length);
  const depth = new Int32Array(parent.length);
  const rows: number[][] = parent.length > 0 ? [[0]] : [];
  for (let row = 0; row < rows.length; row++) {
    const next: number[] = [];
    for (const at of rows[row]!) {
      let left = from[at]!;
      for (const child of children[at]!.sort((a, b) => value[b]! - value[a]!)) {
        from[child] = left;
        depth[child] = row + 1;
        left += value[child]!;
        next.push(child);
      }
    }
    if (next.length > 0) rows.push(next);
  }
  return { from, depth, rows };
}

/** The frames from the whole to this one. */
export function pathTo({ parent }: Tree, at: number): number[] {
  const path: number[] = [];
  for (let frame = at; frame >= 0; frame = parent[frame]!) path.unshift(frame);
  return path;
}

export interface Hits {
  /** By label. */
  labels: Uint8Array;
  /** Of frames that are found, once where one is inside another. */
  sum: number;
  frames: number;
}

/** Frames whose name holds what is typed, in any case; null: nothing is typed. */
export function hitsOf({ names, parent, label, value }: Tree, typed: string): Hits | null {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return null;
  const labels = Uint8Array.from(names, (name) => Number(name.toLowerCase().includes(wanted)));
  const inside = new Uint8Array(parent.length);
  let [sum, frames] = [0, 0];
  for (let at = 1; at < parent.length; at++) {
    const above = inside[parent[at]!]!;
    const found = labels[label[at]!]!;
    inside[at] = above | found;
    if (!found) continue;
    frames++;
    if (!above) sum += value[at]!;
  }
  return { labels, sum, frames };
}

export interface Largest {
  label: number;
  /** Once where a frame is inside one of the same name. */
  value: number;
  own: number;
}

/** By name, most of its own first. */
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
