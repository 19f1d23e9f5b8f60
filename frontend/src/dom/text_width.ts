/** The width of a text in the tab's own font. Each text is measured once. */

import { shortened } from "../format";

/** Font sizes from theme/tokens.css: for ticks, and for cells and second lines. */
const SIZES_PX = { axis: 12, small: 12 } as const;

type TextSize = keyof typeof SIZES_PX;

/** The most texts whose widths are kept. */
const MAX_KNOWN = 50_000;

const known: Record<TextSize, Map<string, number>> = { axis: new Map(), small: new Map() };
const rulers: Partial<Record<TextSize, CanvasRenderingContext2D | null>> = {};

/** In CSS px. */
export function textWidth(text: string, size: TextSize): number {
  const widths = known[size];
  const found = widths.get(text);
  if (found !== undefined) return found;
  if (widths.size >= MAX_KNOWN) widths.clear();
  if (!(size in rulers)) rulers[size] = rulerFor(size);
  const width = rulers[size]?.measureText(text).width ?? estimated(text, size);
  widths.set(text, width);
  return width;
}

/** Measures each text again: another font has arrived. */
export function forgetWidths(): void {
  for (const widths of Object.values(known)) widths.clear();
}

export const widestOf = (texts: readonly string[], size: TextSize): number =>
  texts.reduce((widest, text) => Math.max(widest, textWidth(text, size)), 0);

/** The text with its middle cut out, as much of it as there is room for. */
export function shortenedTo(text: string, room_px: number, size: TextSize): string {
  const width = textWidth(text, size);
  if (width <= room_px) return text;
  let letters = Math.max(1, Math.ceil((text.length * room_px) / width));
  while (letters > 1 && textWidth(shortened(text, letters), size) > room_px) letters--;
  return shortened(text, letters);
}

/** Null where there is no document to draw in. */
function rulerFor(size: TextSize): CanvasRenderingContext2D | null {
  if (typeof document === "undefined") return null;
  const context = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.documentElement).getPropertyValue("--font").trim();
  if (context) context.font = `${SIZES_PX[size]}px ${family || "sans-serif"}`;
  return context;
}

const NARROW = new Set("ijltfrI.,:;!|'()[]{}/ ");
const WIDE = /[A-Zmw…@%&]/;

/** Estimated from shares of the font size, for a common sans-serif font; rather too wide than too narrow. */
function estimated(text: string, size: TextSize): number {
  let sum = 0;
  for (const character of text) sum += NARROW.has(character) ? 0.33 : WIDE.test(character) ? 0.7 : 0.57;
  return sum * SIZES_PX[size];
}
