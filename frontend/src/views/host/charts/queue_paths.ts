/** Paths of a figure in bins: its area as a step line down to the foot, and a stick per bin up to its peak. */

import type { Bins } from "../../../charts/time/time_bins";

/** Gaps of at most `longest` bins take the value before them. */
export function carried(bins: Bins, longest: number): Bins {
  const values = [...bins.values];
  let last = -1;
  values.forEach((value, at) => {
    if (value === null) return;
    if (last >= 0 && at - last - 1 <= longest) values.fill(values[last]!, last + 1, at);
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
