/**
 * The cells of a heat map: where they are, which rows and columns share one where there is no room for each, and what a
 * cell contains: one value, or the least, middle and highest of several, and the level of colour.
 *
 *     1024 ranks, 100 steps, 340 px      ->  64 bands of 16 ranks, 5 px each; a column for each step
 *          8 ranks, 100 steps            ->   8 bands of 1 rank, 22 px each
 */

import { mixed, type Palette } from "../../../charts/canvas/palette";
import type { Colour } from "../../../colour";
import { quantileOf } from "../../../lists";

/** Row by row; NaN where nothing was measured. */
export interface Matrix {
  rows: number;
  columns: number;
  values: Float64Array;
}

/** Which end is the bad one: a cell of several values shows that end, so that no bad value hides among good ones. */
export type Worst = "most" | "least";

/** What a cell stands for. The rows are those of the matrix. */
export interface Cell {
  rows: readonly number[];
  columns: readonly [from: number, to: number];
  /** Null where nothing was measured. */
  least: number | null;
  middle: number | null;
  most: number | null;
  /** The rows of the lowest and the highest value; -1 where there is none. */
  leastRow: number;
  mostRow: number;
  /** How many values are missing. */
  missing: number;
}

/** order: rows of the matrix from top to bottom. */
export function cellOf(matrix: Matrix, order: readonly number[], layout: GridLayout, band: number, column: number) {
  const rows = order.slice(...itemsOf(layout.rows, band, order.length));
  const columns = itemsOf(layout.columns, column, matrix.columns);
  return statedOf(matrix, rows, columns);
}

function statedOf(matrix: Matrix, rows: readonly number[], columns: readonly [number, number]): Cell {
  const found: { value: number; row: number }[] = [];
  let missing = 0;
  for (const row of rows)
    for (let column = columns[0]; column < columns[1]; column++) {
      const value = matrix.values[row * matrix.columns + column]!;
      if (Number.isNaN(value)) missing++;
      else found.push({ value, row });
    }
  found.sort((a, b) => a.value - b.value);
  const [first, last] = [found[0], found.at(-1)];
  const values = Float64Array.from(found, ({ value }) => value);
  return {
    rows,
    columns,
    least: first?.value ?? null,
    middle: quantileOf(values, 0.5),
    most: last?.value ?? null,
    leastRow: first?.row ?? -1,
    mostRow: last?.row ?? -1,
    missing,
  };
}

/** The value that each cell of the picture shows, band by band; NaN where nothing was measured. */
export function shownValues(matrix: Matrix, order: readonly number[], layout: GridLayout, worst: Worst): Float64Array {
  const { rows, columns } = layout;
  const shown = new Float64Array(rows.count * columns.count).fill(Number.NaN);
  const keep = worst === "most" ? Math.max : Math.min;
  order.forEach((row, place) => {
    const start = Math.floor(place / rows.size) * columns.count;
    for (let column = 0; column < matrix.columns; column++) {
      const value = matrix.values[row * matrix.columns + column]!;
      if (Number.isNaN(value)) continue;
      const at = start + Math.floor(column / columns.size);
      shown[at] = Number.isNaN(shown[at]!) ? value : keep(shown[at]!, value);
    }
  });
  return shown;
}

/** The values at which the faintest level begins and the strongest ends; beyond: whether some values are outside. */
export interface Levels {
  low: number;
  high: number;
  below: boolean;
  above: boolean;
}

/** The number of colours of a heat map. */
export const LEVELS = 10;

/**
 * The share of values at either end that the levels leave outside, where there are many: a single outlier would make
 * all others the same colour.
 */
const OUTSIDE = 0.02;
const MANY = 200;

/** The levels begin at 0 where the lowest value is below this share of the highest. */
const LIFTED = 0.45;

/** The levels span at least this share of the highest value, so that noise looks like noise. */
const LEAST_SPAN = 0.2;

/** leastHigh: the levels reach at least up to this value. */
export function levelsOf({ values }: Matrix, leastHigh = 0): Levels {
  const found = values.filter((value) => !Number.isNaN(value)).sort();
  const [least, most] = [found[0] ?? 0, found[found.length - 1] ?? 0];
  const outside = found.length < MANY ? 0 : OUTSIDE;
  const from = quantileOf(found, outside) ?? 0;
  const high = Math.max(leastHigh, quantileOf(found, 1 - outside) ?? 0);
  if (high <= 0 && from >= 0) return { low: 0, high: 1, below: false, above: false };
  if (from < LIFTED * high)
    return { low: Math.min(0, from), high, below: least < Math.min(0, from), above: most > high };
  const wider = Math.max(0, (LEAST_SPAN * high - (high - from)) / 2); // all alike: the colour of the middle
  return { low: from - wider, high: high + wider, below: least < from - wider, above: most > high + wider };
}

/** The level of a value, 0 to LEVELS - 1. */
export function levelOf(value: number, { low, high }: Levels): number {
  return Math.max(0, Math.min(LEVELS - 1, Math.floor((LEVELS * (value - low)) / (high - low))));
}

/** The mean over ranks and steps of the values that were measured; null where there are none. */
export function meanOf(matrix: Matrix, rows: readonly number[]): number | null {
  let [sum, count] = [0, 0];
  for (const row of rows)
    for (let column = 0; column < matrix.columns; column++) {
      const value = matrix.values[row * matrix.columns + column]!;
      if (!Number.isNaN(value)) [sum, count] = [sum + value, count + 1];
    }
  return count === 0 ? null : sum / count;
}

/** How far the faintest level is from the background. */
const FAINTEST = 0.14;

/** The position of the colour itself in the ramp, and how far the last level is from it towards the ink. */
const PURE = 0.68;
const DEEPEST = 0.5;

export function rampOf(palette: Palette, colour: Colour): readonly string[] {
  const own = palette.fills.get(colour)![0]!.plain;
  return Array.from({ length: LEVELS }, (_, level) => {
    const at = FAINTEST + ((1 - FAINTEST) * level) / (LEVELS - 1);
    return at <= PURE
      ? mixed(palette.sunken, own, at / PURE)
      : mixed(own, palette.ink, (DEEPEST * (at - PURE)) / (1 - PURE));
  });
}

/** Bands of `size` rows each; the last band has the rest. */
interface Bands {
  count: number;
  /** Rows per band, a power of two: the ranks of a host stay together. */
  size: number;
  px: number;
}

export interface GridLayout {
  rows: Bands;
  columns: Bands;
  /** Where the first column begins, px. */
  left: number;
  width: number;
  height: number;
}

/** A cell is at least this high and wide, so that a single bad one is visible. */
const LEAST_ROW_PX = 4;
const LEAST_COLUMN_PX = 3;

const MOST_ROW_PX = 22;

/** The most height that the rows of the picture take together. */
const ROOM_PX = 340;

export function gridLayout(rows: number, columns: number, left: number, width: number): GridLayout {
  const across = bandsOf(columns, Math.max(LEAST_COLUMN_PX, width - left), LEAST_COLUMN_PX, Infinity);
  const down = bandsOf(rows, ROOM_PX, LEAST_ROW_PX, MOST_ROW_PX);
  const whole = { ...down, px: Math.floor(down.px) }; // rows of equal height, or the data seems to have a pattern
  return { rows: whole, columns: across, left, width: across.px * across.count, height: whole.px * whole.count };
}

/** How many rows share a band, given the number of rows. */
export const rowsTogether = (rows: number): number => bandsOf(rows, ROOM_PX, LEAST_ROW_PX, MOST_ROW_PX).size;

export function bandsOf(count: number, room_px: number, least_px: number, most_px: number): Bands {
  let size = 1;
  while (Math.ceil(count / size) * least_px > room_px) size *= 2;
  const bands = Math.max(1, Math.ceil(count / size));
  return { count: bands, size, px: Math.min(most_px, room_px / bands) };
}

/** The items of a band: [from, to). */
export const itemsOf = ({ size }: Bands, band: number, count: number): readonly [from: number, to: number] => [
  band * size,
  Math.min(count, (band + 1) * size),
];

/** The band at a distance in px from where the bands begin; null beyond them. */
export function bandAt({ count, px }: Bands, at_px: number): number | null {
  const band = Math.floor(at_px / px);
  return band >= 0 && band < count ? band : null;
}

export type Runs = [from: number, to: number][];

/** Neighbours that are one mark. continues: whether the place is like the one before it. */
export function runsOf(count: number, continues: (at: number) => boolean): Runs {
  const runs: Runs = [];
  for (let at = 0; at < count; at++)
    if (at > 0 && continues(at)) runs.at(-1)![1]++;
    else runs.push([at, at + 1]);
  return runs;
}
