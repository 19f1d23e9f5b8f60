/** The vertical axis: where it starts and ends, its ticks in the scale's own unit, and its grid. */

import { max, min } from "d3-array";
import { tick } from "../../format";
import { ticks, zeroAxis } from "./ticks";

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
 * `gaps`: the most gaps between ticks; no value of this kind is above `ceiling`. A value below 0 (there is none today)
 * would extend the axis downward.
 */
export function valueAxis(values: readonly number[], fromZero: boolean, gaps: number, ceiling = Infinity): ValueAxis {
  const [lowest, highest] = [min(values), max(values)];
  if (lowest === undefined || highest === undefined) return { low: 0, high: 1, ticks: [0] };
  if (fromZero || lowest < LIFTED * highest || lowest < 0) return axisFromZero(Math.min(0, lowest), highest, gaps);
  const margin = Math.max(0, (MIN_RANGE * highest - (highest - lowest)) / 2);
  const low = Math.max(0, lowest - margin);
  const [first = low, second = highest] = ticks(low, highest, gaps);
  const start = first > low ? Math.max(0, first - (second - first)) : first;
  const high = Math.max(highest, Math.min(ceiling, highest + margin));
  return { low: start, high, ticks: ticks(start, high, gaps + 1) };
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
