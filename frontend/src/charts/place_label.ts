/** Where a line's name stands: beside the line, where other lines are farthest. */

import type { Dot } from "./polyline";
import { CHARACTER } from "./axis_labels";

/** Pixels between a line and the foot of its name above it, or its head below it. */
const ABOVE = 7;
const BELOW = 16;

interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** The middle of the text's foot, or null where there is no room. `taken` holds the chains of all lines and earlier labels. */
export function placeLabel(text: string, own: readonly (readonly Dot[])[], taken: readonly (readonly Dot[])[], area: Area): Dot | null {
  const half = (CHARACTER * text.length) / 2;
  let best: Dot | null = null;
  let room = 4;
  for (const { x, y } of own.flatMap(middles)) {
    if (x - half < area.left || x + half > area.right) continue;
    for (const foot of [y - ABOVE, y + BELOW]) {
      if (foot - 10 < area.top || foot > area.bottom) continue;
      const clear = clearance(x - half, x + half, foot - 4, taken);
      if (clear > room) [best, room] = [{ x, y: foot }, clear];
    }
  }
  return best;
}

/** Points and the middles between them. */
function middles(chain: readonly Dot[]): Dot[] {
  return chain.flatMap((dot, at) => {
    const next = chain[at + 1];
    return next ? [dot, { x: (dot.x + next.x) / 2, y: (dot.y + next.y) / 2 }] : [dot];
  });
}

/** Samples along a name's width. */
const SAMPLES = 7;

/** The least vertical distance of any line from the name's middle, over the name's width. */
function clearance(from: number, to: number, y: number, taken: readonly (readonly Dot[])[]): number {
  let least = 40;
  for (const chain of taken) {
    for (let sample = 0; sample < SAMPLES; sample++) {
      const there = heightAt(chain, from + ((to - from) * sample) / (SAMPLES - 1));
      if (there !== null) least = Math.min(least, Math.abs(there - y));
    }
  }
  return least;
}

function heightAt(chain: readonly Dot[], x: number): number | null {
  const after = chain.findIndex((dot) => dot.x >= x);
  const next = chain[after];
  const before = chain[after - 1];
  if (!next) return null;
  if (!before) return next.x === x ? next.y : null;
  return before.y + ((next.y - before.y) * (x - before.x)) / (next.x - before.x);
}
