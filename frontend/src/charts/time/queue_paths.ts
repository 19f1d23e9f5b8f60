/** Paths of a figure in bins: its area as a step line down to the foot, and a stick per bin up to its peak. */

import type { Bins } from "./time_bins";

/**
 * Bins of a pixel or a little more when [low, high] fills `pixels`: those of the coarsest level that shows every pixel,
 * joined; of the finest as they are, where even they are wider. `join` makes one value of several.
 */
export function binsPerPixel(
  levels: readonly Bins[],
  low: number,
  high: number,
  pixels: number,
  join: (values: readonly (number | null)[]) => number | null,
): Bins {
  const pixel = (high - low) / Math.max(1, pixels);
  const level = levels.find(({ bin }) => bin <= pixel) ??
    levels[levels.length - 1] ?? { start: low, bin: 1, values: [] };
  const many = Math.max(1, Math.ceil(pixel / level.bin));
  if (many === 1) return level;
  const first = many * Math.floor(Math.max(0, (low - level.start) / level.bin) / many);
  const last = Math.min(level.values.length, Math.ceil((high - level.start) / level.bin));
  const values = [];
  for (let at = first; at < last; at += many) values.push(join(level.values.slice(at, at + many)));
  return { start: level.start + first * level.bin, bin: many * level.bin, values };
}

/** Of known values; null where none is. */
export function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

export const mostOf = (values: readonly (number | null)[]): number | null =>
  values.reduce((most, value) => (value === null ? most : Math.max(most ?? 0, value)), null);

/** Gaps of at most `most` bins take the value before them. */
export function carried(bins: Bins, most: number): Bins {
  const values = [...bins.values];
  let last = -1;
  values.forEach((value, at) => {
    if (value === null) return;
    if (last >= 0 && at - last - 1 <= most) values.fill(values[last]!, last + 1, at);
    last = at;
  });
  return { ...bins, values };
}

type Place = (value: number) => number;

/** Bins within [low, high), cut at its ends; empty and unknown ones are left out. */
function* within(
  { start, bin, values }: Bins,
  low: number,
  high: number,
): Generator<[from: number, to: number, value: number]> {
  const first = Math.max(0, Math.floor((low - start) / bin));
  for (let at = first; at < values.length && start + at * bin < high; at++) {
    const value = values[at];
    if (value) yield [Math.max(low, start + at * bin), Math.min(high, start + (at + 1) * bin), value];
  }
}

export function areaPath(level: Bins, low: number, high: number, x: Place, y: Place, foot: number): string {
  let path = "";
  for (const [from, to, value] of within(level, low, high)) {
    path += `M${x(from).toFixed(1)} ${foot}V${y(value).toFixed(1)}H${x(to).toFixed(1)}V${foot}z`;
  }
  return path;
}

export function peakPath(level: Bins, low: number, high: number, x: Place, y: Place, foot: number): string {
  let path = "";
  for (const [from, to, value] of within(level, low, high)) {
    path += `M${((x(from) + x(to)) / 2).toFixed(1)} ${foot}V${y(value).toFixed(1)}`;
  }
  return path;
}
