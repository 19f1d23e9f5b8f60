/** The width of a text in the tab's own font. Each text is measured once. */

import { shortened } from "../format";

/** The font size of ticks, cells and second lines (`--type-axis` and `--type-small` in theme/tokens.css). */
const SIZE_PX = 12;

/** The most texts whose widths are kept. */
const MAX_KNOWN = 50_000;

const widths = new Map<string, number>();
/** Undefined until the first text is measured. */
let ruler: CanvasRenderingContext2D | null | undefined;

/** In CSS px. */
export function textWidth(text: string): number {
  const found = widths.get(text);
  if (found !== undefined) return found;
  if (widths.size >= MAX_KNOWN) widths.clear();
  if (ruler === undefined) ruler = rulerOf();
  const width = ruler?.measureText(text).width ?? estimated(text);
  widths.set(text, width);
  return width;
}

/** Measures each text again: another font has arrived. */
export const forgetWidths = (): void => widths.clear();

export const widestOf = (texts: readonly string[]): number =>
  texts.reduce((widest, text) => Math.max(widest, textWidth(text)), 0);

/** The text with its middle cut out, as much of it as there is room for. */
export function shortenedTo(text: string, room_px: number): string {
  const width = textWidth(text);
  if (width <= room_px) return text;
  let letters = Math.max(1, Math.ceil((text.length * room_px) / width));
  while (letters > 1 && textWidth(shortened(text, letters)) > room_px) letters--;
  return shortened(text, letters);
}

/** Null where there is no document to draw in. */
function rulerOf(): CanvasRenderingContext2D | null {
  if (typeof document === "undefined") return null;
  const context = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.documentElement).getPropertyValue("--font").trim();
  if (context) context.font = `${SIZE_PX}px ${family || "sans-serif"}`;
  return context;
}

const NARROW = new Set("ijltfrI.,:;!|'()[]{}/ ");
const WIDE = /[A-Zmw…@%&]/;

/** Estimated from shares of the font size, for a common sans-serif font; rather too wide than too narrow. */
function estimated(text: string): number {
  let sum = 0;
  for (const character of text) sum += NARROW.has(character) ? 0.33 : WIDE.test(character) ? 0.7 : 0.57;
  return sum * SIZE_PX;
}
