/** What the cells of a heat map hold: one value, or least, middle and most of several; and which level of colour. */

import { mixed, type Palette } from "../../../charts/canvas/palette";
import type { Colour } from "../../../colour";
import { type GridLayout, itemsOf } from "./bands";

/** Row by row; NaN where nothing was measured. */
export interface Matrix {
  rows: number;
  columns: number;
  values: Float64Array;
}

/** Which end is the one to look for: a cell of several shows that one, so that no bad one hides among good ones. */
export type Worst = "most" | "least";

/** What a cell stands for. Rows are those of the matrix. */
export interface Cell {
  rows: readonly number[];
  columns: readonly [from: number, to: number];
  /** Null where nothing was measured. */
  least: number | null;
  middle: number | null;
  most: number | null;
  /** The rows of the least and the most; -1 where there is none. */
  leastRow: number;
  mostRow: number;
  /** How many values lack. */
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
  const middle = quantileOf(
    Float64Array.from(found, ({ value }) => value),
    0.5,
  );
  return {
    rows,
    columns,
    least: first?.value ?? null,
    middle,
    most: last?.value ?? null,
    leastRow: first?.row ?? -1,
    mostRow: last?.row ?? -1,
    missing,
  };
}

/** What each cell of the picture shows, band by band; NaN where nothing was measured. */
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

/** Which values the faintest and the strongest level begin and end at; beyond: some lie outside. */
export interface Levels {
  low: number;
  high: number;
  below: boolean;
  above: boolean;
}

/** Colours of a heat map, from the faintest on. */
export const LEVELS = 10;

/** So much at either end is outside where there are many values: one freak would leave all others one colour. */
const OUTSIDE = 0.02;
const MANY = 200;

/** The levels begin at 0 where the least value is below this share of the greatest. */
const LIFTED = 0.45;

/** They span at least this share of the greatest value, so that noise looks like noise. */
const LEAST_SPAN = 0.2;

/** leastHigh: the levels reach at least so far up. */
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

/** Of sorted values, on the line between the two that are nearest; null of none. */
function quantileOf(sorted: Float64Array, share: number): number | null {
  if (sorted.length === 0) return null;
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!];
  return below + (at - Math.floor(at)) * (above - below);
}

/** 0 to LEVELS - 1. */
export function levelOf(value: number, { low, high }: Levels): number {
  return Math.max(0, Math.min(LEVELS - 1, Math.floor((LEVELS * (value - low)) / (high - low))));
}

/** What ranks have in common over the steps: the mean of those that were measured; null where none was. */
export function meanOf(matrix: Matrix, rows: readonly number[]): number | null {
  let [sum, count] = [0, 0];
  for (const row of rows)
    for (let column = 0; column < matrix.columns; column++) {
      const value = matrix.values[row * matrix.columns + column]!;
      if (!Number.isNaN(value)) [sum, count] = [sum + value, count + 1];
    }
  return count === 0 ? null : sum / count;
}

/** The faintest level stands out from the ground. */
const FAINTEST = 0.14;

/** Where the colour itself stands, and how far the last level is from it to the ink. */
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
