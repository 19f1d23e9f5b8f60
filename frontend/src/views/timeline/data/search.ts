/** Boxes by name: which are highlighted, how many of them are visible, and which comes next. */

import { type Box, type Boxes, boxAt, inSight } from "./boxes";
import type { Layer } from "./pages";

/** For each name of a page, 1 where the search finds it. */
export type Matcher = (boxes: Boxes) => Uint8Array;

/** Null where nothing is searched for. Each page's names are gone through once. */
export function matcherOf(words: string): Matcher | null {
  const sought = words.trim().toLowerCase();
  if (sought === "") return null;
  const known = new WeakMap<Boxes, Uint8Array>();
  return (boxes) => {
    const found =
      known.get(boxes) ??
      Uint8Array.from(boxes.names, (name, at) =>
        Number(name.toLowerCase().includes(sought) || boxes.fullNames[at]!.toLowerCase().includes(sought)),
      );
    known.set(boxes, found);
    return found;
  };
}

export function matchCount(layers: readonly Layer[], matches: Matcher): number {
  let count = 0;
  eachMatch(layers, matches, () => count++);
  return count;
}

/** The highlighted box that begins next after (or, backwards, before) `here`; from the last on to the first again. */
export function nextMatch(
  layers: readonly Layer[],
  matches: Matcher,
  here: Box | null,
  backwards: boolean,
): Box | null {
  const sign = backwards ? -1 : 1;
  let next: Box | null = null;
  let first: Box | null = null;
  eachMatch(layers, matches, (boxes, at) => {
    const box = boxAt(boxes, at);
    if (!first || sign * order(box, first) < 0) first = box;
    if (here && sign * order(box, here) > 0 && (!next || sign * order(box, next) < 0)) next = box;
  });
  return next ?? first;
}

/** Boxes of a thin range of layers may stand in two of them: the one in which they begin counts. */
function eachMatch(layers: readonly Layer[], matches: Matcher, each: (boxes: Boxes, at: number) => void): void {
  layers.forEach((layer, place) => {
    const found = matches(layer.boxes);
    for (const row of layer.boxes.rows.values()) {
      const { first, end } = inSight(layer.boxes, row, layer);
      for (let at = first; at < end; at++) {
        if (found[layer.boxes.name[at]!] && (place === 0 || layer.boxes.from[at]! >= layer.from)) each(layer.boxes, at);
      }
    }
  });
}

function order(a: Box, b: Box): number {
  return a.from - b.from || a.track - b.track || a.row - b.row;
}

/** Whether two boxes are the same place, whichever page they are from. */
export const sameBox = (a: Box | null, b: Box | null): boolean =>
  a === b ||
  (a !== null && b !== null && a.track === b.track && a.row === b.row && a.event === b.event && a.from === b.from);
