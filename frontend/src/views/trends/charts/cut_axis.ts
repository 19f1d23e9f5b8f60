/**
 * Where an axis ends below values that would flatten all others: a few of a line, or a line far above most lines.
 *
 *     1 value above the axis: 12.3 s
 *          ▲            the height for all that is above
 *     60 ms --------
 *       -o   o--o--o    the axis is for these
 *      0 ---------
 *
 * TensorBoard's own Time Series tab leaves outliers out of the scale, too. Here they stay in the picture, and are told.
 */

import type { ChartLine, Crowd } from "../../../charts/lines/line_layout";

/** A value is far from a line's own middle from so many times of it on, and so is a line from that of most lines. */
const FAR = 5;

/** The axis is cut only where everything else would have less than this part of its height. */
const FLATTENED = 0.1;

/** More of a line's values than this are a pattern, such as a wait in every eighth step. One of them may be any. */
const FEW_FRACTION = 0.05;

/** Of fewer values none is the odd one. */
const ENOUGH = 5;

/** The highest value below the cut; null where the axis holds all values. The line in focus is never left out. */
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
  /** With the ends of ranges. */
  values: Float64Array;
  level: number;
  firm: boolean;
}

function rowOf({ points, focus, strong }: ChartLine): Row {
  const known = points.filter((point) => point !== null && point.value !== null);
  return {
    values: Float64Array.from(known, (point) => Math.max(point!.value!, point!.high ?? 0)),
    level: lowerMiddle(Float64Array.from(known, (point) => point!.value!)),
    firm: focus || strong === true,
  };
}

const rowsOf = ({ lines }: Crowd): Row[] =>
  lines.map((line) => {
    const values = line.values.filter((value) => !Number.isNaN(value));
    return { values, level: lowerMiddle(values), firm: false };
  });

/** Of two in the middle the lower one: of two lines, the upper one can be the odd one. */
const lowerMiddle = (values: Float64Array): number => values.slice().sort()[(values.length - 1) >> 1] ?? 0;

/** The highest value of a line that its picture must hold: all but a few that are far above. */
function topOf({ values }: Row, fence: number): number {
  const below = values.filter((value) => value <= fence);
  const few = Math.max(1, FEW_FRACTION * values.length);
  const odd = values.length >= ENOUGH && values.length - below.length <= few;
  return greatest(odd ? below : values);
}

/** Of none 0. */
const greatest = (values: Float64Array): number => values.reduce((a, b) => Math.max(a, b), 0);

export interface Above {
  count: number;
  low: number;
  high: number;
  /** Of the only line that has them, where there are several. */
  name: string | null;
}

/** What lies above the axis; null: nothing. */
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

/** The highest value on the axis, for its unit. */
export const largestShown = (lines: readonly ChartLine[], end: number | null): number =>
  lines.reduce(
    (most, { points }) =>
      points.reduce(
        (a, point) =>
          [point?.value, point?.high].reduce<number>(
            (b, value) => (value == null || (end !== null && value > end) ? b : Math.max(b, value)),
            a,
          ),
        most,
      ),
    0,
  );
