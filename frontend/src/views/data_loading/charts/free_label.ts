/** Where a word stands next to its mark: the first place that covers no other word, no mark and no line. */

import type { Dot } from "../../../charts/lines/polyline";
import { textWidth } from "../../../dom/text_width";

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export type Anchor = "start" | "mid" | "end";

/** The foot of the text, and how it hangs on it. */
export interface Label {
  x: number;
  y: number;
  anchor: Anchor;
  text: string;
}

/** Height of a line of small type above and below its foot, px. */
const RISE = 10;
const DROP = 3;

/** From the mark's middle, px: next to it first, then above and below, nearer before farther. */
const PLACES: readonly (readonly [dx: number, dy: number, anchor: Anchor])[] = [
  [11, -7, "start"],
  [11, 16, "start"],
  [-11, -7, "end"],
  [-11, 16, "end"],
  [0, -12, "mid"],
  [0, 20, "mid"],
  [11, 30, "start"],
  [-11, 30, "end"],
  [11, -22, "start"],
  [-11, -22, "end"],
  [0, 36, "mid"],
  [0, -28, "mid"],
  [-11, -38, "end"],
  [11, -38, "start"],
  [0, -46, "mid"],
  [-11, -54, "end"],
];

/** The places that touch their mark. */
export const NEAR = 6;

/** Null where the first `most` places are taken. What is placed joins `taken`. */
export function freeLabel(
  text: string,
  at: Dot,
  frame: Box,
  taken: Box[],
  lines: readonly (readonly Dot[])[],
  most = PLACES.length,
): Label | null {
  for (const [dx, dy, anchor] of PLACES.slice(0, most)) {
    const label = { x: at.x + dx, y: at.y + dy, anchor, text };
    const box = boxOf(label);
    const inside =
      box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
    if (!inside || taken.some((other) => touches(box, other)) || lines.some((line) => crosses(line, box))) continue;
    taken.push(box);
    return label;
  }
  return null;
}

export function boxOf({ x, y, anchor, text }: Label): Box {
  const width = textWidth(text, "small");
  const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
  return { left, right: left + width, top: y - RISE, bottom: y + DROP };
}

/** The square around a mark. */
export const around = ({ x, y }: Dot, radius: number): Box => ({
  left: x - radius,
  right: x + radius,
  top: y - radius,
  bottom: y + radius,
});

const touches = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Pixels between the places at which a line is shown. */
const PACE = 4;

export function crosses(line: readonly Dot[], box: Box): boolean {
  return line.some((from, at) => {
    const to = line[at + 1] ?? from;
    if (Math.max(from.x, to.x) < box.left || Math.min(from.x, to.x) > box.right) return false;
    const parts = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / PACE));
    for (let part = 0; part <= parts; part++) {
      const x = from.x + ((to.x - from.x) * part) / parts;
      const y = from.y + ((to.y - from.y) * part) / parts;
      if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) return true;
    }
    return false;
  });
}
