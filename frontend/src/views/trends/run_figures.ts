/**
 * A metric at all steps, or spans, of a run as columns. They are cached: the pictures, the ranking of the runs and the
 * legend use them again on each click, and a job of a thousand spans has 43,000 of each.
 */

import type { Series, TrendsResult } from "../../api.gen";
import { isSlow, type StepAggregate, valueOver } from "./runs";
import { seriesOf } from "./series";

/** By aggregate; NaN where the value is not known. */
interface Figures {
  value: Float64Array;
  low: Float64Array;
  high: Float64Array;
  /** The mean of the known values; NaN: none is known. */
  mean: number;
}

const KEPT = new WeakMap<readonly StepAggregate[], Map<string, Figures>>();

/** Nothing is cached for a metric whose series have not arrived. */
export function figuresOf(aggregates: readonly StepAggregate[], metric: string): Figures {
  const known = KEPT.get(aggregates) ?? new Map<string, Figures>();
  KEPT.set(aggregates, known);
  const found = known.get(metric) ?? made(aggregates, metric);
  if (isThere(aggregates, metric)) known.set(metric, found);
  return found;
}

const isThere = ([first]: readonly StepAggregate[], metric: string): boolean =>
  first?.members.some(({ result }) => seriesOf(result, metric) !== undefined) ?? false;

function made(aggregates: readonly StepAggregate[], metric: string): Figures {
  const column = () => new Float64Array(aggregates.length);
  const [value, low, high] = [column(), column(), column()];
  const series = new Map<TrendsResult, Series | undefined>(); // looked up once for all steps of a span
  const of = (result: TrendsResult) => {
    if (!series.has(result)) series.set(result, seriesOf(result, metric));
    return series.get(result);
  };
  let [sum, count] = [0, 0];
  aggregates.forEach((aggregate, at) => {
    const found = valueOver(aggregate, of);
    value[at] = found.value ?? Number.NaN;
    low[at] = found.low ?? Number.NaN;
    high[at] = found.high ?? Number.NaN;
    if (found.value !== null) [sum, count] = [sum + found.value, count + 1];
  });
  return { value, low, high, mean: sum / count };
}

/** Turns NaN into null. */
export const known = (value: number): number | null => (Number.isNaN(value) ? null : value);

const SLOW = new WeakMap<readonly StepAggregate[], ReadonlySet<number>>();

/** Indices of the aggregates that are slow in some process. */
export function slowIn(aggregates: readonly StepAggregate[]): ReadonlySet<number> {
  const found = SLOW.get(aggregates) ?? new Set(aggregates.flatMap((each, at) => (isSlow(each) ? [at] : [])));
  SLOW.set(aggregates, found);
  return found;
}
