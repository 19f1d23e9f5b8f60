/** The spans of a page by run and step: what the lines of all pictures of Trends are drawn from. */

import { shortNames } from "../../address/short_names";
import type { TrendSpan, TrendsPage, TrendsResult } from "../../api.gen";

export type ReadSpan = TrendSpan & { result: TrendsResult };

/** One step (or span) of a run, in each of its processes. */
export interface StepAggregate {
  /** The same for a step of the same name and span number in every run: such steps light together. */
  key: string;
  number: number;
  /** Empty for a whole span. */
  step: string;
  /** When the first process began it, ns since 1970; near enough for a picture. */
  start: number;
  members: readonly Member[];
}

interface Member {
  result: TrendsResult;
  /** Place of the step in its span; null: the whole span. */
  at: number | null;
}

export interface Run {
  /** In full, as the address has it. */
  name: string;
  /** The shortest name among the runs of the page. */
  label: string;
  /** Place among the colours of runs, where it has one. */
  hue?: number;
  spans: readonly ReadSpan[];
  /** Processes. */
  workers: number;
  steps: readonly StepAggregate[];
  wholes: readonly StepAggregate[];
}

const isRead = (span: TrendSpan): span is ReadSpan => span.result !== null;

/** Runs in the order of the pickers. The last one is in focus: the server's sentences speak of it. */
export function runsOf({ spans }: TrendsPage): Run[] {
  const byRun = new Map<string, ReadSpan[]>();
  for (const span of spans.filter(isRead)) byRun.set(span.run, [...(byRun.get(span.run) ?? []), span]);
  const labels = shortNames(byRun.keys());
  return [...byRun].map(([name, read]) => ({
    name,
    label: labels.get(name)!,
    spans: read,
    workers: new Set(read.map((span) => span.worker)).size,
    steps: aggregatesOf(read, (span) => span.result.steps.map((step, at) => ({ name: step.name, at }))),
    wholes: aggregatesOf(read, () => [{ name: "", at: null }]),
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
    .sort((a, b) => a.number - b.number || BY_NAME.compare(a.step, b.step));
}

const BY_NAME = new Intl.Collator("en", { numeric: true });

/** As it stands in the address. */
export const stepKey = (number: number, step: string): string => `${number}/${step}`;

export interface AggregateValue {
  /** The mean over the processes. */
  value: number | null;
  /** null: one process, no range. */
  low: number | null;
  high: number | null;
}

export function stepValue({ members }: StepAggregate, metric: string): AggregateValue {
  const values = members.map(({ result, at }) => {
    const series = result.series.find((each) => each.metric === metric);
    return (at === null ? series?.value : series?.steps[at]) ?? null;
  });
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return { value: null, low: null, high: null };
  const value = known.reduce((sum, each) => sum + each, 0) / known.length;
  return known.length === 1
    ? { value, low: null, high: null }
    : { value, low: Math.min(...known), high: Math.max(...known) };
}

export const isSlow = ({ members, step }: StepAggregate): boolean =>
  members.some(({ result }) => result.slow_steps.some((slow) => slow.name === step));

/** The middle of what is drawn. */
export function medianOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (known.length === 0) return null;
  const half = known.length >> 1;
  return known.length % 2 ? known[half]! : (known[half - 1]! + known[half]!) / 2;
}
