/**
 * Keyboard navigation over track names: up and down go from one to the next, left folds, right unfolds or enters the
 * track.
 */

import type { Box } from "../data/boxes";
import { isFolded, type Layout, type Placed } from "../layout";
import type { Scene } from "../scene";
import { type Direction, firstIn } from "./neighbours";

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
