/** Where an axis has ticks: at round values, evenly or by equal factors. */

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

const DIGITS = [[1], [1, 3], [1, 2, 5], [1, 2, 3, 5, 7]] as const;

/** Fewer ticks than this do not tell a scale, more run into each other. */
const LEAST = 3;

/** Ticks at round figures within [low, high], with the fewest digits that give at least three; evenly apart where none do. */
export function logTicks(low: number, high: number): number[] {
  if (!(low > 0) || !(high > low)) return [Math.max(low, high)];
  const found = DIGITS.map((digits) => within(digits, low, high)).find((each) => each.length >= LEAST);
  return found ?? ticks(low, high, LEAST + 1);
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

/** Where a value stands between `left` and `right`; the middle where the axis has no length. */
export function logX(value: number, low: number, high: number, left: number, right: number): number {
  if (!(high > low)) return (left + right) / 2;
  const [from, to] = [Math.log(Math.max(low, 1)), Math.log(Math.max(high, 1))];
  return left + ((Math.log(Math.max(value, 1)) - from) / (to - from || 1)) * (right - left);
}
