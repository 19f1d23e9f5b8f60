/** What is drawn of a layout, and what is at a position in the picture. */

import { type Layout, placeAfter, rowCount, type Window } from "./layout";
import type { Tree } from "./tree";

export const ROW_PX = 19;
/** The height of a row without the line below it. */
export const BOX_PX = 18;

/** Frames narrower than this cannot be pointed at, and keys skip them. */
export const LEAST_PX = 1;

export interface View {
  tree: Tree;
  layout: Layout;
  /** What fills the width; during a transition, a range between two of them. */
  shown: Window;
  /** The frame that is zoomed into. */
  zoomed: number;
  width: number;
}

/** Receives a frame and its left and right edge, px within the picture. */
type Met = (at: number, left: number, right: number) => void;

/**
 * Visits each visible frame of a row, from left to right: `wide` gets those at least `least_px` wide, `narrow` the
 * others.
 */
export function walk({ layout, shown, width }: View, row: number, least_px: number, wide: Met, narrow: Met): void {
  const { rows, frame, from, to } = layout;
  const { low, high } = shown;
  const scale = width / (high - low);
  const end = rows[row + 1]!;
  for (let place = placeAfter(layout, row, low); place < end && from[place]! < high; place++) {
    const left = Math.max(0, (from[place]! - low) * scale);
    const right = Math.min(width, (to[place]! - low) * scale);
    if (right - left >= least_px) wide(frame[place]!, left, right);
    else narrow(frame[place]!, left, right);
  }
}

/** The frame at a position in the picture; -1: none. */
export function frameAt({ layout, shown, width }: View, x: number, y: number): number {
  const row = Math.floor(y / ROW_PX);
  if (row < 0 || row >= rowCount(layout) || x < 0 || x >= width) return -1;
  const sought = shown.low + (x / width) * (shown.high - shown.low);
  const place = placeAfter(layout, row, sought);
  return place < layout.rows[row + 1]! && layout.from[place]! <= sought ? layout.frame[place]! : -1;
}

/** Whether a frame is a caller of the zoomed one, with a width of its own that exceeds the picture's. */
export function isAbove({ layout, shown, zoomed }: View, at: number): boolean {
  const place = layout.place[at]!;
  const { low, high } = shown;
  return (
    layout.depth[at]! < layout.depth[zoomed]! &&
    layout.from[place]! <= low &&
    layout.to[place]! >= high &&
    layout.to[place]! - layout.from[place]! > high - low
  );
}

/** The position of a frame, px; null: it is not in the picture. */
export function spotOf({ layout, shown, width }: View, at: number): { left: number; wide: number; top: number } | null {
  const place = layout.place[at] ?? -1;
  if (place < 0 || layout.to[place]! <= shown.low || layout.from[place]! >= shown.high) return null;
  const scale = width / (shown.high - shown.low);
  const left = Math.max(0, (layout.from[place]! - shown.low) * scale);
  const right = Math.min(width, (layout.to[place]! - shown.low) * scale);
  return { left, wide: right - left, top: layout.depth[at]! * ROW_PX };
}

/** The frame that a key leads to: the caller, the largest frame below, or the neighbour in the row that has a box. */
export function neighbour(view: View, at: number, key: string): number {
  const { tree, layout, zoomed } = view;
  if (at < 0 || layout.place[at]! < 0) return zoomed;
  if (key === "ArrowUp") return tree.parent[at]! < 0 ? at : tree.parent[at]!;
  if (key === "ArrowDown") return below(view, at);
  return beside(view, at, key === "ArrowRight" ? 1 : -1);
}

function below(view: View, at: number): number {
  const { tree, layout } = view;
  const row = layout.depth[at]! + 1;
  if (row >= rowCount(layout)) return at;
  const place = placeAfter(layout, row, Math.max(view.shown.low, layout.from[layout.place[at]!]!));
  const found = layout.frame[place]!;
  return place < layout.rows[row + 1]! && tree.parent[found] === at && hasBox(view, found) ? found : at;
}

function beside(view: View, at: number, by: 1 | -1): number {
  const { rows, frame, place, depth } = view.layout;
  const row = depth[at]!;
  for (let next = place[at]! + by; next >= rows[row]! && next < rows[row + 1]!; next += by) {
    const spot = spotOf(view, frame[next]!);
    if (spot === null) return at;
    if (spot.wide >= LEAST_PX) return frame[next]!;
  }
  return at;
}

const hasBox = (view: View, at: number): boolean => (spotOf(view, at)?.wide ?? 0) >= LEAST_PX;
