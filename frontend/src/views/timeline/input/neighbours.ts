/**
 * Keyboard navigation. From box to box: along a row in time, and to the rows above and below. Over track names: up and
 * down go from one to the next, left folds, right unfolds or enters the track.
 */

import { type TimeRange, touches } from "../../../time_range";
import { type Box, boxAt, firstAbove, inSight, rowKey } from "../data/boxes";
import type { Layer } from "../data/pages";
import { isFolded, type Layout, type Placed } from "../layout";
import type { Scene } from "../scene";

export type Direction = "left" | "right" | "up" | "down";

/** The box next to `here`, or the first visible one where there is none or it is not visible; null at the end. */
export function nextBox(
  layers: readonly Layer[],
  layout: Layout,
  here: Box | null,
  direction: Direction,
  visible: TimeRange,
): Box | null {
  if (!here || !touches(here, visible)) return inRows(layers, layout, -1, 1, visible.from);
  switch (direction) {
    case "right":
      return alongRow(layers, here, 1);
    case "left":
      return alongRow(layers, here, -1);
    case "down":
      return inRows(layers, layout, placeOf(layout, here), 1, middleOf(here, visible));
    case "up":
      return inRows(layers, layout, placeOf(layout, here), -1, middleOf(here, visible));
    default:
      return direction satisfies never;
  }
}

function alongRow(layers: readonly Layer[], here: Box, sign: 1 | -1): Box | null {
  const found = layers.flatMap(({ boxes }) => {
    const row = boxes.rows.get(rowKey(here.track, here.row));
    if (!row) return [];
    const after = firstAbove(boxes.from, here.from, row.first, row.end);
    const at = sign > 0 ? after : firstAbove(boxes.from, here.from - 1, row.first, row.end) - 1;
    return at >= row.first && at < row.end ? [boxAt(boxes, at)] : [];
  });
  return found.sort((a, b) => sign * (a.from - b.from))[0] ?? null;
}

type RowPlace = readonly [track: number, row: number];

const rowsOf = (layout: Layout): RowPlace[] =>
  layout.places.flatMap((place) =>
    place.kind === "track" ? Array.from({ length: place.rows }, (_, row): RowPlace => [place.track.id, row]) : [],
  );

const placeOf = (layout: Layout, here: Box): number =>
  rowsOf(layout).findIndex(([track, row]) => track === here.track && row === here.row);

/** Navigation from a long box starts at the middle of its visible part. */
function middleOf(here: Box, visible: TimeRange): number {
  return (Math.max(here.from, visible.from) + Math.min(here.to, visible.to)) / 2;
}

/** The box nearest to an instant in the next row that has a visible one. */
function inRows(layers: readonly Layer[], layout: Layout, from: number, sign: 1 | -1, ns: number): Box | null {
  const rows = rowsOf(layout);
  for (let at = from + sign; at >= 0 && at < rows.length; at += sign) {
    const found = nearestIn(layers, rows[at]!, ns);
    if (found) return found;
  }
  return null;
}

/** The box of a track nearest to an instant, in the first of its rows that has a visible one. */
function firstIn(layers: readonly Layer[], track: number, rows: number, ns: number): Box | null {
  for (let row = 0; row < rows; row++) {
    const found = nearestIn(layers, [track, row], ns);
    if (found) return found;
  }
  return null;
}

function nearestIn(layers: readonly Layer[], [track, row]: RowPlace, ns: number): Box | null {
  const found = layers.flatMap((layer) => {
    const { first, end } = inSight(layer.boxes, layer.boxes.rows.get(rowKey(track, row)), layer);
    const after = Math.min(end - 1, firstAbove(layer.boxes.to, ns, first, end));
    return [after - 1, after].filter((at) => at >= first && at < end).map((at) => boxAt(layer.boxes, at));
  });
  const apart = (box: Box) => Math.max(0, box.from - ns, ns - box.to);
  return found.sort((a, b) => apart(a) - apart(b))[0] ?? null;
}

/** What a key does at a track name: goes to another name, folds or unfolds the track, or selects one of its events. */
type HeadMove = { kind: "head"; track: number } | { kind: "fold" } | { kind: "box"; box: Box } | null;

export function moveFromHead(
  { layout, layers, visible }: Pick<Scene, "layout" | "layers" | "visible">,
  head: number,
  direction: Direction,
): HeadMove {
  const place = layout.tracks.get(head);
  if (!place) return null;
  switch (direction) {
    case "up":
      return headAt(layout, head, -1);
    case "down":
      return headAt(layout, head, 1);
    case "left":
      return foldable(place) && !isFolded(place) ? { kind: "fold" } : null;
    case "right": {
      if (isFolded(place)) return { kind: "fold" };
      const box = firstIn(layers, head, place.rows, visible.from);
      return box && { kind: "box", box };
    }
    default:
      return direction satisfies never;
  }
}

export const foldable = ({ rows }: Placed & { kind: "track" }): boolean => rows > 1;

function headAt(layout: Layout, head: number, by: 1 | -1): HeadMove {
  const ids = [...layout.tracks.keys()];
  const track = ids[ids.indexOf(head) + by];
  return track === undefined ? null : { kind: "head", track };
}
