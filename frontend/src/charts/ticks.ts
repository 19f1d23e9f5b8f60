/** Where an axis has ticks: at multiples of 1, 2, 2.5 or 5 times a power of ten. */

const PACES = [1, 2, 2.5, 5, 10];

/** More grid lines than this hide what they measure. */
const MOST = 5;

/** Ticks within [low, high], at most `most` gaps between them. Their unit is the caller's. */
export function ticks(low: number, high: number, most = MOST): number[] {
  if (!(high > low)) return [low];
  const pace = tickPace(high - low, most);
  const first = Math.ceil(low / pace - 1e-9);
  const last = Math.floor(high / pace + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => rounded((first + at) * pace));
}

/** The end of an axis from 0 that holds `high`: the next tick. */
export function niceEnd(high: number, most = MOST): number {
  if (!(high > 0)) return 1;
  const pace = tickPace(high, most);
  return rounded(Math.ceil(high / pace - 1e-9) * pace);
}

function tickPace(range: number, most: number): number {
  const power = 10 ** Math.floor(Math.log10(range / most));
  return power * PACES.find((pace) => pace * power * (1 + 1e-9) >= range / most)!;
}

/** Takes out what binary fractions add: 0.30000000000000004. */
const rounded = (value: number): number => Number(value.toPrecision(12));
