/**
 * Where the cells of a heat map are, and which rows and columns share a cell where there is no room for each.
 *
 *     1024 ranks, 100 steps, 340 px      ->  64 bands of 16 ranks, 5 px each; a column for each step
 *          8 ranks, 100 steps            ->   8 bands of 1 rank, 22 px each
 */

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
