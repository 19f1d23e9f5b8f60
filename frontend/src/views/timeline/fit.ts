/** Names in boxes: as much as there is room for, shortened in the middle, nothing where three letters would not do. */

import type { Pen } from "../../charts/canvas_sheet";
import { shortened } from "../../format";

const PADDING = 4;
const LEAST_LETTERS = 4;

/** `wide`: what the whole name takes, px. Null: no room for a word. */
export function fitted(name: string, wide: number, room: number): string | null {
  const free = room - 2 * PADDING;
  if (name === "" || free <= 0) return null;
  if (wide <= free) return name;
  const letters = Math.floor((free / wide) * name.length);
  return letters < LEAST_LETTERS ? null : shortened(name, letters);
}

/** Widths of names in one font, each measured once. */
export function measurer(measure: (name: string) => number): (name: string) => number {
  const known = new Map<string, number>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const width = measure(name);
    known.set(name, width);
    return width;
  };
}

let widths: { font: string; of: (name: string) => number } | null = null;

/** Widths in the font that the boxes write in. */
export function nameWidth(pen: Pen, font: string): (name: string) => number {
  if (widths?.font !== font) widths = { font, of: measurer((name) => pen.measureText(name).width) };
  return widths.of;
}
