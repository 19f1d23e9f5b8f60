/** One unit for many values, so that neighbours can be compared at a glance. */

import { sum } from "d3-array";
import type { Unit } from "./api.gen";
import { MS, S, type Scale, type Size, scaleFor, TIMES, US, unitScale } from "./format";

/** The time unit that a reader chose; with "auto" every column and axis uses the unit that suits it. */
export type TimeUnit = "auto" | "us" | "ms" | "s";

/**
 * Chooses the unit of the largest value, or a smaller one where more than half of the values would read as nearly
 * nothing in it, or, for short times, a quarter of them as little more. In a unit that the reader chose, values have as
 * many decimals as they need.
 *
 * parts: the values are parts of a step, which is given in milliseconds; the parts use milliseconds too, where that is
 * precise enough for those that make up most of the step.
 */
export function scaleOf(values: ArrayLike<number | null>, unit: Unit, chosen: TimeUnit = "auto", parts = false): Scale {
  const sizes = sizesIn(values);
  const largest = sizes.at(-1) ?? 0;
  const typical = sizes[Math.floor(sizes.length / 2)] ?? 0;
  if (unit === "number")
    return unitScale(
      plain(
        typical,
        sizes.every((size) => Number.isInteger(size)),
      ),
    );
  if (unit !== "ns") return scaleFor(largest, unit);
  return chosen === "auto"
    ? unitOfMost(sizes.length > 0 ? sizes : Float64Array.of(MS), parts)
    : unitScale(wantedUnit(chosen, typical));
}

/**
 * Returns the sizes of the values that are known and not 0, sorted; a hundred thousand values take one pass and a sort.
 */
function sizesIn(values: ArrayLike<number | null>): Float64Array {
  const sizes = new Float64Array(values.length);
  let count = 0;
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (value) sizes[count++] = Math.abs(value);
  }
  return sizes.subarray(0, count).sort();
}

/** Chooses the unit for sorted sizes. Times in ms get a second decimal where the smallest has one digit without it. */
function unitOfMost(sizes: Float64Array, parts: boolean): Scale {
  const [least, largest] = [sizes[0]!, sizes[sizes.length - 1]!];
  const [low, typical] = [sizes[Math.floor(sizes.length / 4)]!, sizes[Math.floor(sizes.length / 2)]!];
  const fits = (scale: Scale) =>
    (parts && scale.unit === "ms" && scale.of(leastOfMost(sizes)) >= LEAST_PART) ||
    (reads(scale, typical) && (scale.unit !== "ms" || scale.of(largest) >= FEW || scale.of(low) >= LEAST));
  const reached = TIMES.filter(([size]) => size <= largest).map(([size]) => scaleFor(size, "ns"));
  const found = reached.findLast(fits) ?? scaleFor(largest, "ns");
  const fine = found.unit === "ms" && found.of(least) < 1 && found.of(largest) < 100;
  return fine ? unitScale([MS, "ms", () => 2]) : found;
}

/** ms: times shorter than this have at most four digits in microseconds. */
const FEW = 10;

/** ms: a time shorter than this has at most one digit with two decimals. */
const LEAST = 0.05;

/**
 * The share of the sum that must be readable; the many small values that make up the rest may read as nearly nothing.
 */
const MOST_FRACTION = 0.9;

/** ms: a part longer than this has two digits with two decimals. */
const LEAST_PART = 0.1;

/** Returns the smallest of the largest values that together make up most of the sum. */
function leastOfMost(sizes: Float64Array): number {
  const most = MOST_FRACTION * sum(sizes);
  let at = sizes.length - 1;
  for (let covered = sizes[at]!; covered < most; covered += sizes[at]!) at--;
  return sizes[at]!;
}

const reads = (scale: Scale, value: number): boolean => !scale.number(value).startsWith("<");

/** Gives all values as many decimals as a typical value needs for three digits; none where all are whole. */
function plain(typical: number, whole: boolean): Size {
  const decimals = whole || typical >= 100 ? 0 : typical >= 10 ? 1 : 2;
  return [1, "", () => decimals];
}

/** Gives a typical value three digits, with at most three decimals. */
function wantedUnit(chosen: Exclude<TimeUnit, "auto">, typical: number): Size {
  const [size, unit] = ({ us: [US, "µs"], ms: [MS, "ms"], s: [S, "s"] } as const)[chosen];
  const digits = typical === 0 ? 0 : 2 - Math.floor(Math.log10(typical / size));
  const decimals = Math.min(3, Math.max(0, digits));
  return [size, unit, () => decimals];
}
