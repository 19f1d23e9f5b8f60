/**
 * The only module that turns numbers into text. Each number has a unit, with a no-break space before it, and thin
 * no-break spaces between its thousands. What cannot be measured is a dash; a value that would round to nothing is `<`
 * the last digit.
 */

import type { Unit } from "./api.gen";

/** Shown in place of a figure that cannot be measured. */
export const DASH = "–";

/** Prose gives two digits of a share ("33 %", "1.5 %"); tables and tiles give one decimal ("33.4 %"). */
export type Style = "prose" | "table";

/** A number separate from its unit, for tiles that set the unit smaller. */
export interface Figure {
  number: string;
  unit: string;
}

const NBSP = "\u00a0";
const THIN = "\u202f";

const UNKNOWN: Figure = { number: DASH, unit: "" };

/** A quantity as a figure; null is a dash. */
export function figure(value: number | null, unit: Unit, style: Style = "table"): Figure {
  if (value === null || !Number.isFinite(value)) return UNKNOWN;
  switch (unit) {
    case "ns":
      return nsFigure(value);
    case "fraction":
      return { number: percents(100 * value, style), unit: "%" };
    case "bytes":
      return scaled(value, BYTES);
    case "bytes_per_second":
      return scaled(value, RATES);
    case "number":
      return { number: trimmed(value, 2), unit: "" };
    case "count":
    case "text":
    case "code":
      return { number: digits(value, 0), unit: "" };
    default:
      return unreachable(unit);
  }
}

/**
 * Two digits of a share in prose, or of what it lacks to all: a share and its rest are equally exact, and agree with
 * tables. "100 %" means all of it.
 */
function percents(value: number, style: Style): string {
  if (value >= 99.95 && value < 100) return ">99.9";
  if (style === "table") return digits(value, 1);
  if ((Math.abs(value) >= 9.95 && value <= 90.05) || value >= 100) return digits(value, 0);
  return digits(value, 1).replace(/\.0$/, "");
}

/** A quantity as text: "177.6 ms", "33.4 %", "75 718". */
export function text(value: number | null, unit: Unit, style: Style = "table"): string {
  return joined(figure(value, unit, style));
}

export const ns = (value: number | null): string => text(value, "ns");
/** An instant or a duration in a picture that zooms: "12.345 ms", "3.42 µs", "640 ns". */
export function fine(value_ns: number): string {
  const unit =
    Math.abs(value_ns) >= 10 * S
      ? ([S, "s", 4] as const)
      : Math.abs(value_ns) >= MS
        ? ([MS, "ms", 3] as const)
        : Math.abs(value_ns) >= US
          ? ([US, "µs", 2] as const)
          : ([1, "ns", 0] as const);
  return value_ns === 0 ? ns(0) : joined({ number: trimmed(value_ns / unit[0], unit[2]), unit: unit[1] });
}
export const count = (value: number | null): string => text(value, "count");
export const bytes = (value: number | null): string => text(value, "bytes");
export const rate = (value: number | null): string => text(value, "bytes_per_second");
/** "33 %" */
export const share = (value: number | null): string => text(value, "fraction", "prose");
/** "33.4 %" */
export const percent = (value: number | null): string => text(value, "fraction", "table");

/** A change with its sign: "-22.7 ms". Shares change by percentage points: "+8.1 points". */
export function change(from: number, to: number, unit: Unit): string {
  const moved = figure(Math.abs(to - from), unit);
  if (moved.number === "0" || moved.number.startsWith("<")) return "unchanged";
  return (to < from ? "-" : "+") + joined(unit === "fraction" ? { ...moved, unit: "points" } : moved);
}

/** A bound, not a measurement: whole milliseconds from 100 on ("about 118 ms"). */
export function rough(value_ns: number): string {
  return value_ns >= 100 * MS && value_ns < 10 * S
    ? joined({ number: digits(value_ns / MS, 0), unit: "ms" })
    : ns(value_ns);
}

/** "2.31 million", for counts that nobody reads digit by digit. */
export function roughCount(value: number): string {
  return value < 1e6 ? count(value) : `${(value / 1e6).toPrecision(3) + NBSP}million`;
}

/** "412 of 1 240 MB": both numbers are in the unit of the whole. */
export function bytesOf(part: number, whole: number): string {
  const [size, unit, decimals] = stepFor(whole, BYTES);
  return (
    `${digits(Math.min(part, whole) / size, decimals(whole / size))} of ` +
    `${digits(whole / size, decimals(whole / size))}${NBSP}${unit}`
  );
}

/** A duration for a person who waits: "2 s", "3 min". */
export function wait(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))}${NBSP}s`;
  return `${Math.round(seconds / 60)}${NBSP}min`;
}

/** "14:32", in the reader's own time zone. */
export function clock(time_ms: number): string {
  const at = new Date(time_ms);
  return [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** "14:32:05" */
export function clockSeconds(time_ms: number): string {
  return `${clock(time_ms)}:${String(new Date(time_ms).getSeconds()).padStart(2, "0")}`;
}

/** Created once, because lists of a thousand spans have a date each. */
const LONG_DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" });

/** "8 June 2021" */
export const date = (epoch_ns: number): string => LONG_DATE.format(new Date(epoch_ns / 1e6)).replaceAll(" ", NBSP);

/** PyTorch is younger than this: a converted trace may count from another moment than 1970. */
const FIRST_NS = Date.UTC(2000, 0) * 1e6;

/** The date of the recording; null where the file does not state it. */
export const recordedOn = (epoch_ns: number): string | null => (epoch_ns < FIRST_NS ? null : date(epoch_ns));

/** "5–10", or "5" where both are the same. */
export function rangeText(first: string, last: string): string {
  return first === last ? first : `${first}–${last}`;
}

/** "1 step", "6 steps". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return count(value) + NBSP + (value === 1 ? one : many);
}

/**
 * Cuts the middle out of a long name, which says least: the beginning says what it is, the end what distinguishes it.
 */
export function shortened(name: string, most: number): string {
  if (name.length <= most) return name;
  const half = (most - 1) / 2;
  return `${name.slice(0, Math.ceil(half))}…${name.slice(name.length - Math.floor(half))}`;
}

// One unit for many numbers -------------------------------------------------------------------------------------------

/** One unit for all numbers of an axis or a table column, chosen by the largest. */
export interface Scale {
  unit: string;
  /** The value in that unit. */
  of(value: number): number;
  /** Without the unit: "177.6". */
  number(value: number | null): string;
  /** With the unit: "177.6 ms". */
  text(value: number | null): string;
}

/** The scale for values up to `largest`. Percentages have one decimal. */
export function scaleFor(largest: number, unit: Unit): Scale {
  switch (unit) {
    case "ns":
      return unitScale(stepFor(largest, TIMES));
    case "bytes":
      return unitScale(stepFor(largest, BYTES));
    case "bytes_per_second":
      return unitScale(stepFor(largest, RATES));
    case "fraction":
      return unitScale([0.01, "%", () => 1]);
    case "number":
      return unitScale([1, "", () => 2]);
    case "count":
    case "text":
    case "code":
      return unitScale([1, "", () => 0]);
    default:
      return unreachable(unit);
  }
}

/** A tick label of an axis: as many digits as it needs and no more. `value` is in the axis's own unit. */
export function tick(value: number): string {
  return trimmed(value, 6);
}

export function unitScale([size, unit, decimals]: Size): Scale {
  const number = (value: number | null) =>
    value === null || !Number.isFinite(value) ? DASH : digits(value / size, decimals(value / size));
  return {
    unit,
    of: (value) => value / size,
    number,
    text: (value) => (value === null ? DASH : joined({ number: number(value), unit })),
  };
}

// Numbers -------------------------------------------------------------------------------------------------------------

export const US = 1e3;
export const MS = 1e6;
export const S = 1e9;

/** The size of a unit, its name, and how many decimals a value in that unit has. */
export type Size = readonly [size: number, unit: string, decimals: (value: number) => number];

const whole = () => 0;
const one = () => 1;
const tenths = (value: number) => (Math.abs(value) < 999.95 ? 1 : 0);
/** Three digits: "9.99 s", "12.3 s", "123 s". */
const threeDigits = (value: number) => (Math.abs(value) < 9.995 ? 2 : tenths(10 * value));

/**
 * Seconds start only at ten, so that steps of 0.9 and 1.1 s are compared in one unit. From 1 000 ms on no one needs a
 * decimal.
 */
export const TIMES: readonly Size[] = [
  [1, "ns", whole],
  [US, "µs", whole],
  [MS, "ms", tenths],
  [10 * S, "s", threeDigits],
];

const small = (value: number) => (value < 10 ? 1 : 0);

const BYTES: readonly Size[] = [
  [1, "B", whole],
  [1e3, "kB", whole],
  [1e6, "MB", small],
  [1e10, "GB", one],
];

/** Rates of links and memory are usually given in GB/s from 1 GB/s on. */
const RATES: readonly Size[] = [
  [1, "B/s", whole],
  [1e3, "kB/s", whole],
  [1e6, "MB/s", small],
  [1e9, "GB/s", (value) => (value < 10 ? 2 : 1)],
];

/** The largest unit that the value reaches. Seconds and GB start at ten, so the unit is a tenth of their entry. */
function stepFor(value: number, sizes: readonly Size[]): Size {
  const found = [...sizes].reverse().find(([size]) => Math.abs(value) >= size) ?? sizes[0]!;
  const [size, unit, decimals] = found;
  return unit === "s" || unit === "GB" ? [size / 10, unit, decimals] : [size, unit, decimals];
}

function nsFigure(value: number): Figure {
  return value === 0 ? { number: "0", unit: "ms" } : scaled(value, TIMES);
}

function scaled(value: number, sizes: readonly Size[]): Figure {
  const [size, unit, decimals] = stepFor(value, sizes);
  return { number: digits(value / size, decimals(value / size)), unit };
}

const joined = ({ number, unit }: Figure): string => (unit ? number + NBSP + unit : number);

/** Writes a value with fixed decimals; 0 stays "0", and what is not 0 never reads as 0. */
function digits(value: number, decimals: number): string {
  if (value === 0) return "0";
  const smallest = 10 ** -decimals;
  if (Math.abs(value) < smallest / 2) return `${value < 0 ? "-" : ""}<${smallest.toFixed(decimals)}`;
  return grouped(value.toFixed(decimals));
}

function trimmed(value: number, decimals: number): string {
  return grouped(String(Number(value.toFixed(decimals))));
}

/** Separates thousands from 1 000 on: from 10 000 on only, 1 240 and 12 400 would be written differently. */
function grouped(number: string): string {
  const [integer = "", fraction] = number.split(".");
  const apart = integer.replace(/\B(?=(\d{3})+$)/g, THIN);
  return fraction === undefined ? apart : `${apart}.${fraction}`;
}

function unreachable(value: never): never {
  throw new TypeError(`No such unit: ${String(value)}`);
}
