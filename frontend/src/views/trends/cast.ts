/**
 * Which runs have lines of their own, by rank of their figures, and the figures of a run as columns: a metric at all
 * its steps or spans. They are cached: the pictures, the ranking of the runs and the legend use them again on each
 * click, and a job of a thousand spans has 43,000 of each.
 */

import type { Metric, Series, TrendsResult } from "../../api.gen";
import { cached } from "../../cached";
import { RUN_COLOURS } from "../../colour";
import { holds, wordsOf } from "../../words";
import { isSlow, type Run, type StepAggregate, seriesOf, valueOver } from "./runs";

/** The most runs that are drawn because a search found them. */
const MOST_FOUND = 6;

/** How many of the runs that stand out most are drawn and named. */
const MOST_OUTSTANDING = 3;

export interface Cast {
  /** Runs with a line and a colour of their own; the one in focus is last. */
  lines: readonly Run[];
  /** All others, represented by their median and the band that contains most of them. */
  group: readonly Run[];
  /** What is drawn beside the run in focus: other runs, or the workers of that one run. */
  of: "runs" | "workers";
}

/** Which run is in focus, which worker was chosen, and what it is compared with; typed: the search text. */
export interface Casting {
  focus: string | null;
  compared: string | null;
  worker?: string | undefined;
  /** In lower case. */
  typed: string;
  /** The metric by which the worst are chosen. */
  metric: Metric;
  /** Ids of metrics whose lowest value is the worst. */
  moreIsBetter: readonly string[];
}

/** workers: those of the run, where it is the only one and has many; else empty. */
export function castOf(runs: readonly Run[], workers: readonly Run[], casting: Casting): Cast {
  const last = runs.find((run) => run.name === casting.focus) ?? runs.at(-1);
  if (!last || (workers.length === 0 && runs.length <= RUN_COLOURS))
    return { lines: focusLast(coloured(runs), last?.name ?? null), group: [], of: "runs" };
  const others = workers.length > 0 ? workers : runs.filter((run) => run !== last);
  const alone = standingOut(others, casting);
  const drawn = others.filter((run) => alone.has(run));
  const lines =
    workers.length > 0 ? [...coloured(drawn), last] : coloured(runs.filter((run) => run === last || alone.has(run)));
  const group = others.filter((run) => !alone.has(run));
  return { lines: focusLast(lines, last.name), group, of: workers.length > 0 ? "workers" : "runs" };
}

/** Of many runs those that match the search, else the worst; and always what was chosen or is compared with. */
function standingOut(
  others: readonly Run[],
  { compared, worker, typed, metric, moreIsBetter }: Casting,
): ReadonlySet<Run> {
  const found =
    typed === ""
      ? worst(others, metric, moreIsBetter).map(({ run }) => run)
      : others.filter((run) => matches(run, typed)).slice(0, MOST_FOUND);
  const chosen = others.filter((run) => run.name === compared || (worker !== undefined && run.worker === worker));
  return new Set([...found, ...chosen]);
}

/** The runs at the bad end of the ranking. */
export function worst(
  runs: readonly Run[],
  metric: Metric,
  moreIsBetter: readonly string[],
): { run: Run; value: number }[] {
  const order = ranked(runs, metric.id);
  return (moreIsBetter.includes(metric.id) ? order.reverse() : order).slice(0, MOST_OUTSTANDING);
}

const matches = ({ name, label }: Run, typed: string): boolean => holds(`${name} ${label}`, wordsOf(typed));

const coloured = (runs: readonly Run[]): readonly Run[] => runs.map(inColour);

/** Returns the same object for the same colour, so that what was derived from it need not be computed again. */
const inColour = (run: Run, hue: number): Run =>
  cached(
    cached(COLOURED, run, () => new Map<number, Run>()),
    hue,
    () => ({ ...run, hue }),
  );

const COLOURED = new WeakMap<Run, Map<number, Run>>();

/** The pictures treat the last run as the one in focus, and draw it over the others. */
const focusLast = (runs: readonly Run[], focus: string | null): readonly Run[] => [
  ...runs.filter((run) => run.name !== focus),
  ...runs.filter((run) => run.name === focus),
];

/** Runs ranked by their mean of a metric, highest first; those without it are left out. */
export function ranked(runs: readonly Run[], metric: string): { run: Run; value: number }[] {
  const means = runs.map((run) => ({ run, value: figuresOf(run.steps, metric).mean }));
  return means.filter(({ value }) => !Number.isNaN(value)).sort((a, b) => b.value - a.value);
}

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
  const byName = cached(KEPT, aggregates, () => new Map<string, Figures>());
  const found = byName.get(metric) ?? made(aggregates, metric);
  if (isThere(aggregates, metric)) byName.set(metric, found);
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
export const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value);

const SLOW = new WeakMap<readonly StepAggregate[], ReadonlySet<number>>();

/** Indices of the aggregates that are slow in some process. */
export const slowIn = (aggregates: readonly StepAggregate[]): ReadonlySet<number> =>
  cached(SLOW, aggregates, () => new Set(aggregates.flatMap((each, at) => (isSlow(each) ? [at] : []))));
