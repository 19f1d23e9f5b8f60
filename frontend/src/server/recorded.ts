/** Answers from a report: one file that holds what the server said when it was written, and needs no server. */

import type {
  ComparePage,
  FlamePage,
  Headline,
  HeldAnswers,
  HeldEvents,
  HeldFlames,
  PageOf,
  Problem,
  SaidOfRuns,
  Scalars,
  TrendsPage,
  ViewId,
} from "../api.gen";
import type { Answer, Client } from "./client";
import { busyOf, eventOf, searchIn, timelineOf } from "./recorded_events";
import { rankMapOf } from "./recorded_ranks";

/** A report holds no answer to this. */
export const NOT_HELD: Problem = {
  problem: "This is not in the report",
  file: "",
  hint: "Open the log directory in TensorBoard.",
};

export const NO_EVENTS: Problem = {
  problem: "Single events are not in the report",
  file: "",
  hint: "Open the log directory in TensorBoard, or write the report with --timeline.",
};

/** The report holds events of this span, and not this one. */
export const OTHER_EVENT: Problem = {
  problem: "This event is not in the report",
  file: "",
  hint: "Open the log directory in TensorBoard, or write the report with its step: --timeline --steps.",
};

export const NO_FLAME: Problem = {
  problem: "The flame graph is not in the report",
  file: "",
  hint: "Open the log directory in TensorBoard, or write the report with --flame.",
};

const FINAL: ReadonlySet<string> = new Set([NOT_HELD, NO_EVENTS, OTHER_EVENT, NO_FLAME].map(({ problem }) => problem));

/** Whether to ask again is of no use: a report says tomorrow what it says today. */
export const isFinal = ({ problem }: Problem): boolean => FINAL.has(problem);

/** eventsOf, flamesOf: what the report holds of a span's single events, and of its call paths. */
export function openRecorded(
  recorded: HeldAnswers,
  eventsOf: (span: string) => HeldEvents | null = () => null,
  flamesOf: (span: string) => HeldFlames | null = () => null,
): Client {
  const { index, catalogue, pages, pairs } = recorded;
  const ofEvents = async <T>(span: string, answer: (events: HeldEvents) => T | undefined): Promise<Answer<T>> => {
    const events = eventsOf(span);
    if (events === null) return { kind: "problem", value: NO_EVENTS };
    const value = answer(events);
    return value === undefined ? { kind: "problem", value: OTHER_EVENT } : ready(value);
  };
  return {
    written_ms: recorded.written_ms,
    index: async () => ready(index),
    catalogue: async () => ready(catalogue),
    view: async <V extends ViewId>(span: string, view: V) =>
      readyOr<PageOf<V>>(pages[span]?.[view] as PageOf<V> | undefined),
    trends: async (runs, focus) => readyOr(trendsOf(recorded, runs, focus)),
    series: async () => ({ kind: "problem", value: NOT_HELD }), // the rows have every metric
    ranks: async (span) => readyOr(recorded.jobs.find(({ spans }) => spans.includes(span))),
    rankMap: async (span, metric) =>
      metric.startsWith("rank_")
        ? readyOr(recorded.waits.find((map) => map.metric === metric && map.spans.includes(span)))
        : ready(rankMapOf(recorded.trends.rows, span, metric)),
    compare: async (base, candidate) => readyOr(pairs.find((pair) => isPair(pair, base, candidate))),
    chain: async (runs, order) => readyOr(order.length === 0 && sameRuns(runs, recorded) ? recorded.chain : undefined),
    scalars: async (run, tag) => ready(scalarsOf(recorded.scalars[run], tag)),
    held: (span) => eventsOf(span)?.held ?? null,
    timeline: (span, { folded }) => ofEvents(span, (events) => timelineOf(events, folded)),
    busy: (span, { from, to }) => ofEvents(span, (events) => busyOf(events, from, to)),
    event: (span, { event, folded }) => ofEvents(span, (events) => eventOf(events, event, folded)),
    search: (span, asked) => ofEvents(span, (events) => searchIn(events, asked)),
    stepFile: noEvents,
    memory: noEvents,
    flame: async (span, asked) => flameOf(flamesOf(span), asked),
    retry: async () => ({ kind: "problem", value: NOT_HELD }),
  };
}

const noEvents = async (): Promise<Answer<never>> => ({ kind: "problem", value: NO_EVENTS });

function flameOf(held: HeldFlames | null, { by, where }: Pick<FlamePage, "by" | "where">): Answer<FlamePage> {
  const page = held?.pages.find((each) => each.by === by && each.where === where);
  return page ? ready(page) : { kind: "problem", value: NO_FLAME };
}

const ready = <T>(value: T): Answer<T> => ({ kind: "ready", value });

const readyOr = <T>(value: T | undefined): Answer<T> =>
  value === undefined ? { kind: "problem", value: NOT_HELD } : ready(value);

/** Several spans of a worker count together; two spans of one worker stand for themselves. */
const isPair = ({ base, candidate }: ComparePage, from: string, to: string): boolean =>
  base.spans.includes(from) && candidate.spans.includes(to);

const scalarsOf = (of: Scalars | undefined, tag: string | null): Scalars => ({
  tags: of?.tags ?? [],
  series: (of?.series ?? []).filter((series) => series.tag === tag),
});

function sameRuns(runs: readonly string[], { index, chain_runs }: HeldAnswers): boolean {
  const asked = runs.length === 0 ? index.runs.map(({ name }) => name) : runs;
  return asked.length === chain_runs.length && asked.every((name) => chain_runs.includes(name));
}

/** Of some runs among many no sentence was written: then only how many there are is said. */
function trendsOf({ trends, index }: HeldAnswers, runs: readonly string[], focus: string | null): TrendsPage {
  const { rows, changes, of_all, of_one } = trends;
  if (runs.length === 0 || runs.length === index.runs.length)
    return { ...(of_all[focus ?? ""] ?? of_all[""]!), spans: rows, changes, left_out: 0 };
  const shown = {
    spans: rows.filter(({ run }) => runs.includes(run)),
    changes: changes.filter(({ run }) => runs.includes(run)),
    left_out: 0,
  };
  if (runs.length === 1) return { ...of_one[runs[0]!]!, ...shown };
  return {
    headline: countOf(runs.length, index.runs.length),
    titles: ofFocus(of_one[focus ?? runs.at(-1)!]),
    ...shown,
  };
}

/** Titles that speak of the run in focus alone, and of none. */
function ofFocus(said: SaidOfRuns | undefined): TrendsPage["titles"] {
  const kept: readonly string[] = ["steps", "slow", "slow_rule", "time_bins"];
  return Object.fromEntries(Object.entries(said?.titles ?? {}).filter(([picture]) => kept.includes(picture)));
}

const countOf = (shown: number, all: number): Headline => ({
  verdict: {
    template: "{shown} of {all} runs are shown.",
    values: { shown: { value: shown, unit: "count" }, all: { value: all, unit: "count" } },
  },
  action: null,
  view: null,
  code: null,
  basis: null,
});
