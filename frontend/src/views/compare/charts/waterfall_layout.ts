/**
 * From one total to another, a bar for each change:
 *
 *     base       |##############|
 *     data            |---------|
 *     kernels         |-|
 *     candidate  |######|
 */

import { ticks, zeroAxis } from "../../../charts/axes/ticks";

/** A change of the whole, and its interval where it is known. */
export interface Fall {
  change: number;
  low: number | null;
  high: number | null;
}

/** Where a change begins and ends, and where it may end. */
export interface Level {
  from: number;
  to: number;
  low: number | null;
  high: number | null;
}

export function levelsOf(base: number, falls: readonly Fall[]): readonly Level[] {
  let at = base;
  return falls.map(({ change, low, high }) => {
    const from = at;
    at += change;
    return { from, to: at, low: low === null ? null : from + low, high: high === null ? null : from + high };
  });
}

export interface FallAxis {
  low: number;
  high: number;
  ticks: readonly number[];
}

/** The axis begins above 0 where all that changes takes less than this share: else nothing of it could be seen. */
const SEEN = 0.2;

/** Room at both ends of what changes, in shares of it. */
const MARGIN = 0.15;

/** Room enough for all levels; `low` is 0, or else the bars of the totals are cut. */
export function fallAxis(totals: readonly number[], levels: readonly Level[]): FallAxis {
  const all = [...totals, ...levels.flatMap(({ from, to, low, high }) => [from, to, low ?? to, high ?? to])];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const range = most - least;
  if (range >= SEEN * most || range === 0) {
    const { end, ticks: found } = zeroAxis(most);
    return { low: Math.min(0, least), high: end, ticks: found };
  }
  const low = Math.max(0, least - MARGIN * range - range / 4);
  const high = most + MARGIN * range;
  return { low, high, ticks: ticks(low, high) };
}
