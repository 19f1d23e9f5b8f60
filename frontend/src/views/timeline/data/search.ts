/** Boxes by name: which of those that are drawn are highlighted. How many there are in all the server says. */

import type { Box, Boxes } from "./boxes";

/** For each name of a page, 1 where the search finds it. */
export type Matcher = (boxes: Boxes) => Uint8Array;

/** Null where nothing is searched for. Each page's names are gone through once, as the server goes through its own. */
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

/** Whether two boxes are the same place, whichever page they are from. */
export const sameBox = (a: Box | null, b: Box | null): boolean =>
  a === b ||
  (a !== null && b !== null && a.track === b.track && a.row === b.row && a.event === b.event && a.from === b.from);
