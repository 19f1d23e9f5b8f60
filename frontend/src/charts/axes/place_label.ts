/** Where a line's name stands: next to the line, where other lines are farthest. */

import type { Dot } from "../lines/polyline";
import { labelWidth } from "./labels";

/** Pixels between a line and the foot of its name above it, or its head below it. */
const ABOVE = 7;
const BELOW = 16;

/** Places that are tried: of a long line every n-th. */
const MOST_SPOTS = 120;

interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/**
 * The middle of the text's foot within one of the areas, or null where there is no room. `taken`: what it must not
 * touch.
 */
export function placeLabel(
  text: string,
  own: readonly (readonly Dot[])[],
  taken: readonly (readonly Dot[])[],
  areas: readonly Area[],
): Dot | null {
  const half = labelWidth({ text }) / 2;
  let best: Dot | null = null;
  let room = 4;
  const spots = own.flatMap(middles);
  const pace = Math.ceil(spots.length / MOST_SPOTS);
  for (const { x, y } of spots.filter((_, at) => at % pace === 0)) {
    const area = areas.find(({ left, right }) => x - half >= left && x + half <= right);
    if (!area) continue;
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

/** The least vertical distance of any line from the name's middle, over the name's width; 0 where one crosses it. */
function clearance(from: number, to: number, y: number, taken: readonly (readonly Dot[])[]): number {
  let least = FAR;
  for (const chain of taken) {
    chain.forEach((dot, at) => {
      const next = chain[at + 1] ?? dot;
      if (next.x < from || dot.x > to) return;
      const [a, b] = next.x === dot.x ? [dot.y, next.y] : [heightAt(dot, next, from), heightAt(dot, next, to)];
      const inside = Math.min(a, b) <= y && y <= Math.max(a, b);
      least = Math.min(least, inside ? 0 : Math.min(Math.abs(a - y), Math.abs(b - y)));
    });
  }
  return least;
}

/** Farther than this is far enough. */
const FAR = 40;

/** Of a range at x, or at its end where x lies beyond it. */
function heightAt(start: Dot, end: Dot, x: number): number {
  if (x <= start.x) return start.y;
  return x >= end.x ? end.y : start.y + ((end.y - start.y) * (x - start.x)) / (end.x - start.x);
}
