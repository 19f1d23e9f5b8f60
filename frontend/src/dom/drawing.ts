/**
 * A saved picture as one self-contained SVG document: title, second line, legend, the picture, and a foot that names
 * the recording. All colours and fonts are written out; nothing refers to a style sheet.
 *
 *     Kernel is steady; Runtime makes steps differ          title
 *     step 6, 126.2 ms                                      second line
 *     ## Kernel  // Data loading  .. Other                  legend, in as many lines as it takes
 *     [picture]
 *     run · worker · span 1 · recorded … · tb-steptime …    foot
 */

import { escaped } from "./marks";

/** What surrounds the picture, and the colours for it. */
export interface Frame {
  title: string;
  sub: string;
  legend: readonly LegendEntry[];
  foot: string;
  font: string;
  /** A style sheet with the fonts themselves; empty: those of the machine that shows the picture. */
  fonts: string;
  surface: string;
  ink: string;
  /** The colour of the second line, the legend and the foot. */
  second: string;
}

/** fill: a colour or a pattern of `defs`; stroke: its edge, "none" where it needs none. */
export interface LegendEntry {
  label: string;
  fill: string;
  stroke: string;
}

/** The drawn picture, with its own size in px. `defs` contains the patterns that it uses. */
export interface Body {
  width: number;
  height: number;
  defs: string;
  marks: string;
}

export interface Drawing {
  width: number;
  height: number;
  svg: string;
}

const MARGIN = 16;
const TITLE_PX = 20;
const LINE_PX = 18;
const GAP = 8;

/**
 * Texts are not measured: this is the assumed width of a letter, as a share of the font size; few letters are wider.
 */
const LETTER = 0.6;

export function drawingOf(frame: Frame, body: Body): Drawing {
  const room = body.width;
  const titles = wrapped(frame.title, room / (14 * LETTER));
  const subs = wrapped(frame.sub, room / (12 * LETTER));
  const legend = placed(frame.legend, room);
  const feet = wrapped(frame.foot, room / (11 * LETTER));
  let y = MARGIN;
  const line = (text: string, size: number, weight: number, fill: string, step: number) => {
    y += step;
    const looks = `font-size="${size}" font-weight="${weight}" fill="${fill}"`;
    return `<text x="${MARGIN}" y="${y - 5}" ${looks}>${escaped(text)}</text>`;
  };
  const head = [
    ...titles.map((text) => line(text, 14, 600, frame.ink, TITLE_PX)),
    ...subs.map((text) => line(text, 12, 400, frame.second, LINE_PX)),
  ];
  const keys = legend.entries.map((entry) => key(entry, y + GAP, frame.second));
  y += legend.rows * LINE_PX + (legend.rows > 0 ? GAP : 0) + GAP;
  const marks = `<g transform="translate(${MARGIN} ${y})">${body.marks}</g>`;
  y += body.height + GAP;
  const foot = feet.map((text) => line(text, 11, 400, frame.second, LINE_PX));
  const width = Math.ceil(room + 2 * MARGIN);
  const height = Math.ceil(y + MARGIN);
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="${escaped(frame.font)}" style="font-variant-numeric:tabular-nums">` +
    `<title>${escaped(frame.title)}</title>${frame.fonts && `<style>${frame.fonts}</style>`}` +
    `${body.defs && `<defs>${body.defs}</defs>`}` +
    `<rect width="${width}" height="${height}" fill="${frame.surface}"/>` +
    `${head.join("")}${keys.join("")}${marks}${foot.join("")}</svg>`;
  return { width, height, svg };
}

interface Key extends LegendEntry {
  x: number;
  row: number;
}

const SWATCH_PX = 10;
const KEY_GAP = 16;

/** Places the entries one after the other, on a new row where there is no room. */
function placed(legend: readonly LegendEntry[], room: number): { entries: Key[]; rows: number } {
  let [x, row] = [0, 0];
  const entries = legend.map((entry) => {
    const wide = SWATCH_PX + 6 + entry.label.length * 12 * LETTER;
    if (x > 0 && x + wide > room) [x, row] = [0, row + 1];
    const key = { ...entry, x, row };
    x += wide + KEY_GAP;
    return key;
  });
  return { entries, rows: legend.length === 0 ? 0 : row + 1 };
}

function key({ label, fill, stroke, x, row }: Key, top: number, ink: string): string {
  const [left, y] = [MARGIN + x, top + row * LINE_PX];
  return (
    `<rect x="${left}" y="${y}" width="${SWATCH_PX}" height="${SWATCH_PX}" ` +
    `fill="${escaped(fill)}" stroke="${stroke}"/>` +
    `<text x="${left + SWATCH_PX + 6}" y="${y + 9}" font-size="12" fill="${ink}">${escaped(label)}</text>`
  );
}

/** Wraps a text into lines of at most `letters` letters. It breaks between words, and never at a no-break space. */
export function wrapped(text: string, letters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/[ \t\n]+/).filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= letters) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
