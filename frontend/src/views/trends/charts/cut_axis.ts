/**
 * Ends an axis below values that would flatten all others: a few values of a line, or a line far above most lines.
 *
 *     1 value above the axis: 12.3 s
 *          ▲            the height at which all values above are drawn
 *     60 ms --------
 *       -o   o--o--o    the axis is for these
 *      0 ---------
 *
 * TensorBoard's own Time Series tab also leaves outliers out of the scale. Here they stay in the picture, with a text.
 */

import { max } from "d3-array";
import type { ChartLine, Crowd } from "../../../charts/lines/line_layout";

/**
 * A value is an outlier from this multiple of its line's middle on, and a line from this multiple of most lines' middle
 * on.
 */
const FAR = 5;

/** The axis is cut only where everything else would otherwise have less than this share of its height. */
const FLATTENED = 0.1;

/**
 * If more of a line's values are outliers they are a pattern, such as a wait in every eighth step. A single one is
 * always allowed.
 */
const FEW_FRACTION = 0.05;

/** Among fewer values than this none counts as an outlier. */
const ENOUGH = 5;

/** The highest value below the cut; null where the axis shows all values. The line in focus is never cut off. */
export function axisEnd(lines: readonly ChartLine[], hidden: Crowd): number | null {
  const rows = [...lines.filter((line) => line.group !== true).map(rowOf), ...rowsOf(hidden)].filter(
    ({ values }) => values.length > 0,
  );
  if (rows.length === 0) return null;
  const levels = rows.map(({ level }) => level);
  const usual = Math.max(lowerMiddle(Float64Array.from(levels)), ...rows.map((row) => (row.firm ? row.level : 0)));
  const fence = FAR * usual;
  const end = Math.max(0, ...rows.filter(({ level }) => level <= fence).map((row) => topOf(row, fence)));
  const highest = Math.max(...rows.map(({ values }) => greatest(values)));
  return end > 0 && end < FLATTENED * highest ? end : null;
}

interface Row {
  /** Includes the ends of ranges. */
  values: Float64Array;
  level: number;
  firm: boolean;
}

function rowOf({ points, focus, strong }: ChartLine): Row {
  const present = points.filter((point) => point !== null && point.value !== null);
  return {
    values: Float64Array.from(present, (point) => Math.max(point!.value!, point!.high ?? 0)),
    level: lowerMiddle(Float64Array.from(present, (point) => point!.value!)),
    firm: focus || strong === true,
  };
}

const rowsOf = ({ lines }: Crowd): Row[] =>
  lines.map((line) => {
    const values = line.values.filter((value) => !Number.isNaN(value));
    return { values, level: lowerMiddle(values), firm: false };
  });

/** The median, or the lower of the two middle values: of two lines, the upper one can then be the outlier. */
const lowerMiddle = (values: Float64Array): number => values.slice().sort()[(values.length - 1) >> 1] ?? 0;

/** The highest value of a line that the picture must show: all but a few that are far above. */
function topOf({ values }: Row, fence: number): number {
  const below = values.filter((value) => value <= fence);
  const few = Math.max(1, FEW_FRACTION * values.length);
  const odd = values.length >= ENOUGH && values.length - below.length <= few;
  return greatest(odd ? below : values);
}

/** Returns 0 for an empty array. */
const greatest = (values: Float64Array): number => values.reduce((a, b) => Math.max(a, b), 0);

export interface Above {
  count: number;
  low: number;
  high: number;
  /** The name of the only line that has such values, where there are several lines. */
  name: string | null;
}

/** The values above the axis; null: there are none. */
export function valuesAbove(lines: readonly ChartLine[], hidden: Crowd, end: number | null): Above | null {
  if (end === null) return null;
  const own = lines.filter((line) => line.group !== true);
  const found = [
    ...own.map((line) => ({ name: line.name, values: rowOf(line).values })),
    ...hidden.lines.map(({ name, values }) => ({ name, values })),
  ]
    .map(({ name, values }) => ({ name, values: values.filter((value) => value > end) }))
    .filter(({ values }) => values.length > 0);
  if (found.length === 0) return null;
  const values = Float64Array.from(found.flatMap((each) => [...each.values])).sort();
  const alone = found.length === 1 && own.length + hidden.lines.length > 1;
  return { count: values.length, low: values[0]!, high: values.at(-1)!, name: alone ? found[0]!.name : null };
}

/** The highest value on the axis, which determines its unit. */
export const largestShown = (lines: readonly ChartLine[], end: number | null): number =>
  max(
    lines.flatMap(({ points }) => points),
    (point) =>
      max([point?.value, point?.high], (value) => (end !== null && value != null && value > end ? null : value)),
  ) ?? 0;
