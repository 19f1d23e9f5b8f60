/** One figure at several resolutions: which of them a picture needs. */

import type { Bins } from "./rebin";

/**
 * The finest of `levels` whose bins are at least a pixel wide when [low, high] fills `pixels`; the coarsest where none
 * is. Levels run from coarse to fine.
 */
export function levelFor(levels: readonly Bins[], low: number, high: number, pixels: number): Bins {
  const pixel = (high - low) / Math.max(1, pixels);
  return levels.findLast(({ bin }) => bin >= pixel) ?? levels[0] ?? NOTHING;
}

const NOTHING: Bins = { start: 0, bin: 1, values: [] };

/** The value of the bin that holds the instant; null beyond the ends. */
export const valueAt = ({ start, bin, values }: Bins, at: number): number | null =>
  values[Math.floor((at - start) / bin)] ?? null;

/** A stretch to look at, kept in the address as "from-to" in whole ns from the span's origin, so that views share it. */
export type Zoom = readonly [from: number, to: number];

export const zoomKey = ([from, to]: Zoom): string => `${Math.round(from)}-${Math.round(to)}`;

/** Null for none, and for one that ends after `whole` (another span's). */
export function zoomOf(key: string | undefined, whole: number): Zoom | null {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(key ?? "") ?? [];
  const zoom: Zoom = [Number(from), Number(to)];
  return from !== undefined && zoom[0] < zoom[1] && zoom[1] <= Math.ceil(whole) ? zoom : null;
}
