/**
 * The spans of a page by run and step: the data of the lines in all pictures of Trends. With many spans a page contains
 * the series that are always shown; that of another metric is loaded when it is chosen, and is kept next to the result
 * to which it belongs.
 */

import { sum } from "d3-array";
import { useEffect, useRef, useState } from "preact/hooks";
import { workerLabels } from "../../address/selection";
import { shortNames } from "../../address/short_names";
import type { Metric, Problem, Series, TrendSeries, TrendSpan, TrendsPage, TrendsResult } from "../../api.gen";
import { cached } from "../../cached";
import { grouped, quantileOf } from "../../lists";
import type { Answer } from "../../server/client";
import { problemOf, untilReady } from "../../server/requested";
import { byName } from "../../words";
import type { Tab } from "../props";

export type ReadSpan = TrendSpan & { result: TrendsResult };

/** One step (or span) of a run, in each of its processes. */
export interface StepAggregate {
  /** The same for a step of the same name and span number in every run: such steps are highlighted together. */
  key: string;
  number: number;
  /** Empty for a whole span. */
  step: string;
  /** When the first process began it, ns since 1970; accurate enough for a picture. */
  start: number;
  members: readonly Member[];
}

interface Member {
  result: TrendsResult;
  /** Index of the step in its span; null: the whole span. */
  at: number | null;
}

export interface Run {
  /** The full name, as in the address. */
  name: string;
  /** The shortest name among the runs of the page. */
  label: string;
  /** Index among the colours of runs, where it has one. */
  hue?: number;
  spans: readonly ReadSpan[];
  workers: number;
  worker?: string;
  steps: readonly StepAggregate[];
  wholes: readonly StepAggregate[];
}

const isRead = (span: TrendSpan): span is ReadSpan => span.result !== null;

/** Cached by the spans of an answer, so that going to another view and back does not compute them again. */
const RUNS = new WeakMap<readonly TrendSpan[], readonly Run[]>();
const WORKERS = new WeakMap<Run, readonly Run[]>();

/** Runs in the order of the pickers. The last one is in focus: the server's sentences are about it. */
export const runsOf = ({ spans }: TrendsPage): readonly Run[] => cached(RUNS, spans, () => makeRuns(spans));

/** The workers of a run, each as a run with one worker: no folder name contains a line break. */
export const workersOf = (run: Run): readonly Run[] => cached(WORKERS, run, () => makeWorkers(run));

function makeRuns(spans: readonly TrendSpan[]): Run[] {
  const byRun = grouped(spans.filter(isRead), ({ run }) => run);
  const labels = shortNames(byRun.keys());
  return [...byRun].map(([name, read]) => runOf(name, labels.get(name)!, read));
}

const runOf = (name: string, label: string, read: readonly ReadSpan[]): Run => ({
  name,
  label,
  spans: read,
  workers: new Set(read.map((span) => span.worker)).size,
  steps: aggregatesOf(read, (span) => span.result.steps.map((step, at) => ({ name: step.name, at }))),
  wholes: aggregatesOf(read, () => [{ name: "", at: null }]),
});

function makeWorkers(run: Run): Run[] {
  const byWorker = grouped(run.spans, ({ worker }) => worker);
  const workers = [...byWorker].map(([name, read]) => ({ name, rank: read[0]!.rank, spans: [] }));
  const labels = workerLabels(workers);
  return [...byWorker].map(([worker, read]) => ({
    ...runOf(`${run.name}\n${worker}`, labels.get(worker)!, read),
    worker,
  }));
}

function aggregatesOf(
  spans: readonly ReadSpan[],
  steps: (span: ReadSpan) => { name: string; at: number | null }[],
): StepAggregate[] {
  const found = new Map<string, { number: number; step: string; start: number; members: Member[] }>();
  for (const span of spans) {
    for (const { name, at } of steps(span)) {
      const key = stepKey(span.number, name);
      const start = span.result.origin_ns + (span.result.steps[at ?? 0]?.start_ns ?? 0);
      const aggregate = found.get(key) ?? { number: span.number, step: name, start, members: [] };
      aggregate.members.push({ result: span.result, at });
      aggregate.start = Math.min(aggregate.start, start);
      found.set(key, aggregate);
    }
  }
  return [...found]
    .map(([key, aggregate]) => ({ key, ...aggregate }))
    .sort((a, b) => a.number - b.number || byName(a.step, b.step));
}

/** The key as it is written in the address. */
export const stepKey = (number: number, step: string): string => `${number}/${step}`;

interface AggregateValue {
  /** The mean over the processes; with many processes the median. */
  value: number | null;
  /**
   * The lowest and highest value of the processes; with many the band that contains four fifths of them. null: one
   * process, no range.
   */
  low: number | null;
  high: number | null;
}

/** From this many processes on, a single one says nothing about the others. */
export const MANY_WORKERS = 13;

export const stepValue = (aggregate: StepAggregate, metric: string): AggregateValue =>
  valueOver(aggregate, (result) => seriesOf(result, metric));

/** of: returns the series from a result. */
export function valueOver({ members }: StepAggregate, of: SeriesOf): AggregateValue {
  if (members.length === 1) return { value: memberValue(members[0]!, of), low: null, high: null };
  const values = members.map((member) => memberValue(member, of));
  const measured = values.filter((value) => value !== null);
  if (measured.length === 0) return { value: null, low: null, high: null };
  if (measured.length >= MANY_WORKERS) {
    const { median, low, high } = bandOf(measured)!;
    return { value: median, low, high };
  }
  const value = sum(measured) / measured.length;
  return measured.length === 1
    ? { value, low: null, high: null }
    : { value, low: Math.min(...measured), high: Math.max(...measured) };
}

type SeriesOf = (result: TrendsResult) => Series | undefined;

function memberValue({ result, at }: Member, of: SeriesOf): number | null {
  const series = of(result);
  return (at === null ? series?.value : series?.steps[at]) ?? null;
}

export const isSlow = ({ members, step }: StepAggregate): boolean =>
  members.some(({ result }) => result.slow_steps.some((slow) => slow.name === step));

interface Band {
  median: number;
  low: number;
  high: number;
}

/** The median, and the 10th and 90th percentiles: four fifths are between them. Null where nothing is known. */
export function bandOf(values: ArrayLike<number>): Band | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  return {
    median: quantileOf(sorted, 0.5)!,
    low: quantileOf(sorted, LOW)!,
    high: quantileOf(sorted, 1 - LOW)!,
  };
}

const LOW = 0.1;

const LATER = new WeakMap<TrendsResult, Map<string, Series>>();

export const seriesOf = (result: TrendsResult, metric: string): Series | undefined =>
  result.series.find((each) => each.metric === metric) ?? LATER.get(result)?.get(metric);

/** Adds the loaded series to the spans to which they belong. */
function learn(spans: readonly TrendSpan[], { metric, spans: ids, values, steps, reasons }: TrendSeries): void {
  const place = new Map(ids.map((id, at) => [id, at]));
  for (const { id, result } of spans) {
    const at = place.get(id);
    if (result === null) continue;
    cached(LATER, result, () => new Map<string, Series>()).set(metric, {
      metric,
      device: null,
      value: at === undefined ? null : values[at]!,
      steps: at === undefined ? [] : steps[at]!,
      reason: reasons[id] ?? null,
    });
  }
}

interface MetricAnswer {
  /** The metric that is shown. */
  metric: Metric;
  /** Why it is not the chosen one. */
  failed: { label: string; problem: Problem } | null;
}

/**
 * The chosen metric once its series have arrived, until then the previous one; they are requested where the page does
 * not have them. runs: those of the page, none named means all.
 */
export function useMetric(page: TrendsPage, runs: readonly string[], tab: Tab): MetricAnswer {
  const { metrics } = tab.meanings;
  const chosen = metrics.find(({ id }) => id === tab.state.metric) ?? metrics[0]!;
  const [answered, setAnswered] = useState<{ id: string; answer: Answer<TrendSeries> } | null>(null);
  const { spans } = page;
  const there = has(spans, chosen.id);
  const named = runs.join("\n");
  useEffect(() => {
    if (there) return;
    return untilReady(
      (signal) => tab.source.series(named === "" ? [] : named.split("\n"), chosen.id, signal),
      (answer) => {
        if (answer.kind === "ready") learn(spans, answer.value);
        setAnswered({ id: chosen.id, answer });
      },
    );
  }, [there, spans, named, chosen.id, tab.source]);
  const shown = useRef(metrics[0]!);
  if (there) shown.current = chosen;
  const problem = !there && answered?.id === chosen.id ? problemOf(answered.answer) : null;
  return {
    metric: has(spans, shown.current.id) ? shown.current : metrics[0]!,
    failed: problem && { label: chosen.label, problem },
  };
}

/** Whether the series have arrived; where no span has been read, none is requested. */
function has(spans: readonly TrendSpan[], metric: string): boolean {
  const result = spans.find((span) => span.result !== null)?.result;
  return !result || seriesOf(result, metric) !== undefined;
}
