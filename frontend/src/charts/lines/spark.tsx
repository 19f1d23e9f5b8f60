/** A line without axes next to a number, showing its course over the steps. Missing steps are a break, never a line. */

import { colourOf } from "../../colour";

export interface SparkRun {
  values: readonly (number | null)[];
  /** True for the span that the number belongs to; the others are faint. */
  firm: boolean;
}

interface SparkProps {
  runs: readonly SparkRun[];
  colour: string;
  height?: number;
}

const WIDTH = 58;
const MARGIN = 3;

/** The gap between runs, in points, so that two spans do not read as one. */
const APART = 1.5;

/** The range spans at least this share of the value, so that noise looks like noise. */
const LEAST_RANGE = 0.2;

export function Spark({ runs, colour, height = 22 }: SparkProps) {
  const present = runs.flatMap((run) => run.values.filter((value) => value !== null));
  if (present.length < 2) return <svg width={WIDTH} height={height} aria-hidden="true" />;
  const y = vertical(present, height);
  const points = runs.reduce((sum, run) => sum + run.values.length, 0) + APART * (runs.length - 1) - 1;
  const pace = (WIDTH - 2 * MARGIN) / Math.max(1, points);
  const starts = runs.map((_, at) =>
    runs.slice(0, at).reduce((sum, run) => sum + run.values.length - 1 + APART + 1, 0),
  );
  return (
    <svg
      class={`spark of-${colourOf(colour)}`}
      width={WIDTH}
      height={height}
      viewBox={`0 0 ${WIDTH} ${height}`}
      aria-hidden="true"
    >
      {runs.map((run, at) => (
        <SparkLine key={at} run={run} x={(step) => MARGIN + pace * (starts[at]! + step)} y={y} />
      ))}
    </svg>
  );
}

function SparkLine({ run, x, y }: { run: SparkRun; x: (step: number) => number; y: (value: number) => number }) {
  const end = run.values.findLastIndex((value) => value !== null);
  return (
    <g opacity={run.firm ? 1 : 0.45}>
      <path class="line" d={path(run.values, x, y)} />
      {run.firm && end >= 0 && <circle class="mark" cx={x(end)} cy={y(run.values[end]!)} r="2" />}
    </g>
  );
}

/** Low values are at the bottom; a line of zeros only is drawn along it. */
function vertical(values: readonly number[], height: number): (value: number) => number {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const range = Math.max(high - low, LEAST_RANGE * Math.max(Math.abs(high), Math.abs(low)));
  const bottom = low >= 0 ? Math.max(0, (low + high - range) / 2) : (low + high - range) / 2;
  return (value) => height - MARGIN - (range === 0 ? 0 : ((value - bottom) / range) * (height - 2 * MARGIN));
}

/** An SVG path through the known values; a lone point is a short dash. */
function path(values: readonly (number | null)[], x: (at: number) => number, y: (value: number) => number): string {
  let drawn = "";
  let pen = false;
  values.forEach((value, at) => {
    if (value !== null) drawn += `${pen ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    if (value !== null && !pen && (values[at + 1] ?? null) === null) drawn += "h.1";
    pen = value !== null;
  });
  return drawn;
}
