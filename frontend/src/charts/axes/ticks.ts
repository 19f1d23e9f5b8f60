/** Where an axis has ticks, at round values, evenly spaced or by equal factors; and which of them are labelled. */

import { nice, ticks as roundValues } from "d3-array";
import { textWidth } from "../../dom/text_width";

/** More grid lines than this would obscure the data. */
const MAX_GAPS = 5;

/** Ticks within [low, high] with at most `gaps` gaps between them, in the caller's unit. */
export function ticks(low: number, high: number, gaps = MAX_GAPS): number[] {
  if (!(high > low)) return [low];
  for (let wanted = gaps; wanted > 0; wanted--) {
    const found = roundValues(low, high, wanted);
    if (found.length <= gaps + 1) return found;
  }
  return [low];
}

export interface ZeroAxis {
  /** The last tick, at or above the highest value. */
  end: number;
  ticks: readonly number[];
}

/** An axis from 0 that holds `high` and ends with a tick. */
export function zeroAxis(high: number, gaps = MAX_GAPS): ZeroAxis {
  if (!(high > 0)) return { end: 1, ticks: [0, 1] };
  for (let wanted = gaps; wanted > 0; wanted--) {
    const [, end] = nice(0, high, wanted);
    const found = roundValues(0, end, wanted);
    if (found.length <= gaps + 1) return { end, ticks: found };
  }
  return { end: high, ticks: [0, high] };
}

const DIGITS = [[1], [1, 3], [1, 2, 5], [1, 2, 3, 5, 7]] as const;

/** Fewer ticks than this do not convey a scale. */
const MIN_TICKS = 3;

/**
 * Ticks at round values within [low, high], with the fewest digits that give enough ticks; evenly spaced where none do.
 */
export function logTicks(low: number, high: number): number[] {
  if (!(low > 0) || !(high > low)) return [Math.max(low, high)];
  const found = DIGITS.map((digits) => within(digits, low, high)).find((each) => each.length >= MIN_TICKS);
  return found ?? ticks(low, high, MIN_TICKS + 1);
}

function within(digits: readonly number[], low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const digit of digits) {
      const tick = Number((digit * 10 ** power).toPrecision(12));
      if (tick >= low && tick <= high) found.push(tick);
    }
  }
  return found;
}

/** The position of a value between `left` and `right`; the middle where the axis has no length. */
export function logX(value: number, low: number, high: number, left: number, right: number): number {
  if (!(high > low)) return (left + right) / 2;
  const [from, to] = [Math.log(Math.max(low, 1)), Math.log(Math.max(high, 1))];
  return left + ((Math.log(Math.max(value, 1)) - from) / (to - from || 1)) * (right - left);
}

export interface AxisLabel {
  x: number;
  text: string;
}

/** Room between two labels, px. */
export const GAP_PX = 10;

const PACES = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];

/** Keeps every n-th label from the first on, with the smallest n at which none touches the next. */
export function thinned(labels: readonly AxisLabel[]): readonly AxisLabel[] {
  const pace = PACES.find((each) => fits(everyNth(labels, each)));
  return everyNth(labels, pace ?? Math.max(1, labels.length));
}

const everyNth = (labels: readonly AxisLabel[], n: number): readonly AxisLabel[] =>
  labels.filter((_, at) => at % n === 0);

function fits(labels: readonly AxisLabel[]): boolean {
  return labels.every((label, at) => {
    const next = labels[at + 1];
    return next === undefined || next.x - label.x >= (textWidth(label.text) + textWidth(next.text)) / 2 + GAP_PX;
  });
}
