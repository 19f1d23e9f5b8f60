/** The axes of a picture: where they have ticks, which of these are labelled, and how they are drawn. */

import { max, min, nice, ticks as roundValues } from "d3-array";
import { textWidth } from "../dom/text_width";
import { type Scale, tick } from "../format";

// Ticks at round values, evenly spaced or by equal factors -----------------------------------------------------------

/** More grid lines than this would obscure the data. */
const MAX_GAPS = 5;

/** Ticks within [low, high] with at most `gaps` gaps between them, in the caller's unit. */
export function ticks(low: number, high: number, gaps = MAX_GAPS): number[] {
  if (!(high > low)) return [low];
  for (let count = gaps; count > 0; count--) {
    const found = roundValues(low, high, count);
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
  for (let count = gaps; count > 0; count--) {
    const [, end] = nice(0, high, count);
    const found = roundValues(0, end, count);
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

/** Labels at their places below a picture. */
export const AxisLabels = ({ labels, y }: { labels: readonly AxisLabel[]; y: number }) => (
  <>
    {labels.map(({ x, text }) => (
      <text key={x} class="mid" x={x} y={y}>
        {text}
      </text>
    ))}
  </>
);

// The vertical axis ---------------------------------------------------------------------------------------------------

interface ValueAxis {
  low: number;
  high: number;
  ticks: readonly number[];
}

/** The axis does not start at 0 where all lines stay above this share of the highest value. */
const LIFTED = 0.45;

/** The range spans at least this share of the highest value, so that noise looks like noise. */
const MIN_RANGE = 0.2;

/**
 * The lowest tick is the end of the axis, at or below all values. `gaps`: the most gaps between the ticks above it; no
 * value of this kind is above `ceiling`. A value below 0 (there is none today) would extend the axis downward.
 */
export function valueAxis(values: readonly number[], fromZero: boolean, gaps: number, ceiling = Infinity): ValueAxis {
  const [lowest, highest] = [min(values), max(values)];
  if (lowest === undefined || highest === undefined) return { low: 0, high: 1, ticks: [0] };
  if (fromZero || lowest < LIFTED * highest || lowest < 0) return axisFromZero(Math.min(0, lowest), highest, gaps);
  const margin = Math.max(0, (MIN_RANGE * highest - (highest - lowest)) / 2);
  const low = Math.max(0, lowest - margin);
  const high = Math.max(highest, Math.min(ceiling, highest + margin));
  const found = ticks(low, high, gaps);
  const [first = low, second = high] = found;
  if (first <= low) return { low: first, high, ticks: found };
  const start = Math.max(0, Number((first - (second - first)).toPrecision(12)));
  return { low: start, high, ticks: [start, ...found] };
}

function axisFromZero(low: number, highest: number, gaps: number): ValueAxis {
  if (highest <= 0) return { low, high: 1, ticks: [0] };
  const { end, ticks: found } = zeroAxis(highest, gaps);
  return { low, high: end, ticks: low < 0 ? ticks(low, end, gaps) : found };
}

interface ValueGridProps {
  ticks: readonly number[];
  /** The position of a tick, px from the top. */
  y(tick: number): number;
  left: number;
  right: number;
  /** Written once, at the top tick. */
  unit?: string;
}

/** A line and a figure for each tick; the first line is the axis itself. */
export function ValueGrid({ ticks: all, y, left, right, unit = "" }: ValueGridProps) {
  const top = all[all.length - 1];
  return (
    <g>
      {all.map((value, at) => (
        <g key={value}>
          <line class={at === 0 ? "tick" : "grid"} x1={left} x2={right} y1={y(value)} y2={y(value)} />
          <text class="end" x={left - 6} y={y(value) + 4}>
            {value === top && unit ? `${tick(value)}\u00a0${unit}` : tick(value)}
          </text>
        </g>
      ))}
    </g>
  );
}

// The time axis -------------------------------------------------------------------------------------------------------

interface TimeAxisProps {
  /** The time range that the picture shows, ns. */
  from: number;
  to: number;
  left: number;
  width: number;
  scale: Scale;
}

/** Least distance between ticks, px. */
const TICK_PX = 64;

/** The time axis below a picture; the unit is written at the first tick. */
export function TimeAxis({ from, to, left, width, scale }: TimeAxisProps) {
  const one = scale.of(1);
  const x = (ns: number) => left + ((ns - from) / (to - from || 1)) * (width - left);
  const all = ticks(scale.of(from), scale.of(to), Math.max(1, Math.floor((width - left) / TICK_PX)));
  const marks = all.map((value, at) => ({
    x: x(value / one),
    text: at === 0 ? `${tick(value)}\u00a0${scale.unit}` : tick(value),
  }));
  return (
    <svg class="chart" width={width} height={22} aria-hidden="true">
      <line class="tick" x1={left} x2={width} y1="1" y2="1" />
      {marks.map((mark) => (
        <line key={mark.x} class="tick" x1={mark.x} x2={mark.x} y1="1" y2="5" />
      ))}
      {thinned(marks).map((mark) => (
        <text key={mark.x} class={mark.x < left + 8 ? "" : mark.x > width - 12 ? "end" : "mid"} x={mark.x} y="17">
          {mark.text}
        </text>
      ))}
    </svg>
  );
}
