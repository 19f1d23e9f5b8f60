/** What a frame of the flame graph looks like and where it is; and what is at a place. */

import type { Palette } from "../../../charts/canvas/palette";
import type { Colour } from "../../../colour";
import type { Hits, Kind, Layout, Tree } from "./tree";

export const ROW_PX = 19;
/** A row without the line under it. */
export const BOX_PX = 18;

export interface View {
  tree: Tree;
  layout: Layout;
  /** The frame that fills the width. */
  zoomed: number;
  width: number;
}

export interface Scene extends View {
  /** Of `boxesOf`: made once for a view, as pointing at a frame changes none. */
  boxes: readonly Box[];
  /** That the pointer or the keys are at; -1: none. */
  at: number;
  hits: Hits | null;
  palette: Palette;
  height: number;
}

/** Null: drawn as paper, since it is no frame of the program. */
export const COLOUR_OF: Readonly<Record<Kind, Colour | null>> = {
  all: null,
  python: "other",
  module: "other",
  op: "cpu",
  runtime: "runtime",
  kernel: "kernel",
  collective: "comm",
  copy: "copy",
  outside: null,
  smaller: null,
};

export interface Box {
  at: number;
  left: number;
  top: number;
  wide: number;
  /** Around what is zoomed into: only the way there. */
  above: boolean;
}

/** Frames narrower than this are not drawn. */
const LEAST_PX = 1;

/** Every frame that is to be seen, by row and from left to right. */
export function boxesOf({ tree, layout, zoomed, width }: View): Box[] {
  const { from, rows, depth } = layout;
  const whole = tree.value[zoomed] ?? 0;
  const boxes: Box[] = [];
  if (whole <= 0) return boxes;
  const [low, high] = [from[zoomed]!, from[zoomed]! + whole];
  const scale = width / whole;
  for (const [row, frames] of rows.entries()) {
    for (const at of frames) {
      const begin = from[at]!;
      if (begin >= high) break;
      const value = tree.value[at]!;
      if (value * scale < LEAST_PX || begin + value <= low) continue;
      const left = Math.max(0, (begin - low) * scale);
      const right = Math.min(width, (begin + value - low) * scale);
      const above = row < depth[zoomed]! && value > whole;
      if (right - left >= LEAST_PX) boxes.push({ at, left, top: row * ROW_PX, wide: right - left, above });
    }
  }
  return boxes;
}

/** The frame at a place of the picture; -1: none. */
export function frameAt(boxes: readonly Box[], x: number, y: number): number {
  const row = Math.floor(y / ROW_PX);
  for (const { at, left, top, wide } of boxes) if (top === row * ROW_PX && x >= left && x < left + wide) return at;
  return -1;
}

export const isFaded = ({ hits, tree }: Pick<Scene, "hits" | "tree">, at: number): boolean =>
  hits !== null && !hits.labels[tree.label[at]!];

/** Where a key leads: to the caller, the largest frame below, or the neighbour in the row. */
export function neighbour(
  { tree, layout, zoomed, boxes, at }: Omit<Scene, "palette" | "hits" | "height">,
  key: string,
): number {
  if (at < 0) return zoomed;
  if (key === "ArrowUp") return tree.parent[at]! < 0 ? at : tree.parent[at]!;
  const shown = boxes.map((box) => box.at);
  if (key === "ArrowDown") return shown.find((each) => tree.parent[each] === at) ?? at;
  const row = shown.filter((each) => layout.depth[each] === layout.depth[at]);
  const place = row.indexOf(at) + (key === "ArrowRight" ? 1 : -1);
  return row[Math.max(0, Math.min(row.length - 1, place))] ?? at;
}
