/** The vertical axis of lines: where it starts and ends, and its ticks, in the scale's own unit. */

import { niceEnd, ticks } from "./ticks";

export interface ValueAxis {
  low: number;
  high: number;
  ticks: readonly number[];
}

/** Lines start above 0 where all of them stay above this share of the highest. */
const LIFTED = 0.45;

/** The range spans at least this share of the highest value, so that noise looks like noise. */
const LEAST_RANGE = 0.2;

/** `most` gaps between ticks; no value of this kind lies above `ceiling`. A figure below 0 (there is none today) would extend the axis downward. */
export function valueAxis(values: readonly number[], fromZero: boolean, most: number, ceiling = Infinity): ValueAxis {
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const highest = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (values.length === 0) return { low: 0, high: 1, ticks: [0] };
  if (fromZero || least < LIFTED * highest || least < 0) return fromNought(Math.min(0, least), highest, most);
  const beyond = Math.max(0, (LEAST_RANGE * highest - (highest - least)) / 2);
  const low = Math.max(0, least - beyond);
  const [first = low, second = highest] = ticks(low, highest, most);
  const start = first > low ? Math.max(0, first - (second - first)) : first;
  const high = Math.max(highest, Math.min(ceiling, highest + beyond));
  return { low: start, high, ticks: ticks(start, high, most + 1) };
}

function fromNought(low: number, highest: number, most: number): ValueAxis {
  const high = highest > 0 ? niceEnd(highest, most) : 1;
  return { low, high, ticks: highest > 0 ? ticks(low, high, most) : [0] };
}
