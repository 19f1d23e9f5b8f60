/** One unit for many values, so that neighbours can be compared at a glance. */

import type { Unit } from "./api.gen";
import { MS, S, type Scale, type Size, scaleFor, TIMES, US, unitScale } from "./format";

/** The unit that a reader wants for times; "auto": every column and axis has the one that suits it. */
export type TimeUnit = "auto" | "us" | "ms" | "s";

/**
 * The unit of the largest value, or a smaller one where more than half of all would read as nearly nothing in it. A unit
 * that the reader wants has as many decimals as the values need.
 */
export function scaleOf(values: readonly (number | null)[], unit: Unit, wanted: TimeUnit = "auto"): Scale {
  const sizes = values.flatMap((value) => (value ? [Math.abs(value)] : [])).sort((a, b) => a - b);
  const largest = sizes.at(-1) ?? 0;
  const typical = sizes[Math.floor(sizes.length / 2)] ?? 0;
  if (unit === "number") return unitScale(plain(typical, sizes.every(Number.isInteger)));
  if (unit !== "ns") return scaleFor(largest, unit);
  return wanted === "auto"
    ? unitOfMost(largest || MS, typical, sizes[0] ?? MS)
    : unitScale(wantedUnit(wanted, typical));
}

/** Milliseconds of short times have a second decimal where the least of them need it. */
function unitOfMost(largest: number, typical: number, smallest: number): Scale {
  const reached = TIMES.filter(([size]) => size <= largest).map(([size]) => scaleFor(size, "ns"));
  const readable = reached.findLast((scale) => typical === 0 || reads(scale, typical)) ?? scaleFor(largest, "ns");
  const fine = readable.unit === "ms" && !reads(readable, smallest) && readable.of(largest) < 100;
  return fine ? unitScale([MS, "ms", () => 2]) : readable;
}

const reads = (scale: Scale, value: number): boolean => !scale.number(value).startsWith("<");

/** As many decimals for all as a typical value needs for three digits; none where all are whole. */
function plain(typical: number, whole: boolean): Size {
  const decimals = whole || typical >= 100 ? 0 : typical >= 10 ? 1 : 2;
  return [1, "", () => decimals];
}

/** Three digits of a typical value, where three decimals are enough for them. */
function wantedUnit(wanted: Exclude<TimeUnit, "auto">, typical: number): Size {
  const [size, unit] = ({ us: [US, "µs"], ms: [MS, "ms"], s: [S, "s"] } as const)[wanted];
  const digits = typical === 0 ? 0 : 2 - Math.floor(Math.log10(typical / size));
  const decimals = Math.min(3, Math.max(0, digits));
  return [size, unit, () => decimals];
}
