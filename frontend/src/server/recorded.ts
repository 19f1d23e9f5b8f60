/** Answers from a report: one file that contains the server's answers at the time of writing, and needs no server. */

import type {
  BusyBins,
  ComparePage,
  EventDetail,
  FlamePage,
  Headline,
  IncludedAnswers,
  IncludedEvents,
  IncludedFlames,
  PageOf,
  Problem,
  RankMap,
  Scalars,
  SearchPage,
  TimelinePage,
  TrendSpan,
  TrendsPage,
  TrendsResult,
  TrendsTexts,
  ViewId,
} from "../api.gen";
import { byName } from "../words";
import { type Answer, type Client, withoutFile } from "./client";

/** A report contains no answer to this. */
export const NOT_HELD = withoutFile("This is not in the report", "Open the log directory in TensorBoard.");

export const NO_EVENTS = withoutFile(
  "Single events are not in the report",
  "Open the log directory in TensorBoard, or write the report with --timeline.",
);

/** The report contains events of this span, but not this one. */
export const OTHER_EVENT = withoutFile(
  "This event is not in the report",
  "Open the log directory in TensorBoard, or write the report with its step: --timeline --steps.",
);

export const NO_FLAME = withoutFile(
  "The flame graph is not in the report",
  "Open the log directory in TensorBoard, or write the report with --flame.",
);

const FINAL: ReadonlySet<string> = new Set([NOT_HELD, NO_EVENTS, OTHER_EVENT, NO_FLAME].map(({ problem }) => problem));

/** Whether a new attempt is useless: a report will give the same answer tomorrow. */
export const isFinal = ({ problem }: Problem): boolean => FINAL.has(problem);

/** eventsOf, flamesOf: what the report contains of a span's single events, and of its call paths. */
export function openRecorded(
  recorded: IncludedAnswers,
  eventsOf: (span: string) => IncludedEvents | null = () => null,
  flamesOf: (span: string) => IncludedFlames | null = () => null,
): Client {
  const { index, catalogue, pages, pairs } = recorded;
  const ofEvents = async <T>(span: string, answer: (events: IncludedEvents) => T | undefined): Promise<Answer<T>> => {
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
    jobSteps: async (run) => ready(recorded.job_steps[run] ?? { workers: [], more: 0 }),
    held: (span) => eventsOf(span)?.held ?? null,
    timeline: (span, { folded }) => ofEvents(span, (events) => timelineOf(events, folded)),
    busy: (span, { from, to }) => ofEvents(span, (events) => busyOf(events, from, to)),
    event: (span, { event, folded }) => ofEvents(span, (events) => eventOf(events, event, folded)),
    search: (span, query) => ofEvents(span, (events) => searchIn(events, query)),
    stepFile: noEvents,
    memory: noEvents,
    flame: async (span, query) => flameOf(flamesOf(span), query),
    retry: async () => ({ kind: "problem", value: NOT_HELD }),
  };
}

const noEvents = async (): Promise<Answer<never>> => ({ kind: "problem", value: NO_EVENTS });

function flameOf(flames: IncludedFlames | null, { by, where }: Pick<FlamePage, "by" | "where">): Answer<FlamePage> {
  const page = flames?.pages.find((each) => each.by === by && each.where === where);
  return page ? ready(page) : { kind: "problem", value: NO_FLAME };
}

const ready = <T>(value: T): Answer<T> => ({ kind: "ready", value });

const readyOr = <T>(value: T | undefined): Answer<T> =>
  value === undefined ? { kind: "problem", value: NOT_HELD } : ready(value);

/** Several spans of a worker count together; two spans of one worker are compared as they are. */
const isPair = ({ base, candidate }: ComparePage, from: string, to: string): boolean =>
  base.spans.includes(from) && candidate.spans.includes(to);

const scalarsOf = (of: Scalars | undefined, tag: string | null): Scalars => ({
  tags: of?.tags ?? [],
  series: (of?.series ?? []).filter((series) => series.tag === tag),
});

function sameRuns(runs: readonly string[], { index, chain_runs }: IncludedAnswers): boolean {
  const names = runs.length === 0 ? index.runs.map(({ name }) => name) : runs;
  return names.length === chain_runs.length && names.every((name) => chain_runs.includes(name));
}

/** For a selection of several runs no sentences were stored: then the headline gives only their number. */
function trendsOf({ trends, index }: IncludedAnswers, runs: readonly string[], focus: string | null): TrendsPage {
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

/** The titles that are about the run in focus alone, or about no run. */
function ofFocus(texts: TrendsTexts | undefined): TrendsPage["titles"] {
  const fields: readonly string[] = ["steps", "slow", "slow_rule", "time_bins"];
  return Object.fromEntries(Object.entries(texts?.titles ?? {}).filter(([picture]) => fields.includes(picture)));
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
  card: null,
});

/**
 * Returns everything that is stored, whichever part is requested: a page may contain more, and is then requested only
 * once.
 */
const timelineOf = ({ folded, whole }: IncludedEvents, fold: boolean): TimelinePage =>
  fold || whole === null ? folded : whole;

/** How busy any other range was cannot be derived from bins. */
const busyOf = ({ busy }: IncludedEvents, from: number, to: number): BusyBins | undefined =>
  busy.start_ns === from && busy.end_ns === to ? busy : undefined;

function eventOf(events: IncludedEvents, event: number, folded: boolean): EventDetail | undefined {
  const found = events.described.find((each) => each.event === event);
  if (!found || !folded) return found;
  const row = foldedRows(events);
  return {
    ...found,
    row: row.get(event) ?? found.row,
    links: found.links.map((link) => ({ ...link, row: row.get(link.event) ?? link.row })),
  };
}

const foldedRows = ({ moved, moved_row }: IncludedEvents): ReadonlyMap<number, number> =>
  new Map(moved.map((event, at) => [event, moved_row[at]!]));

interface SearchQuery {
  words: string;
  track: number | null;
  folded: boolean;
  from: number;
  first?: number;
}

/** The number of bins for the places of the hits in the recording. */
const BINS = 500;

/** Searches all described events at once: hits and counts are those of what the report contains. */
function searchIn(events: IncludedEvents, { words, track, folded, from, first }: SearchQuery): SearchPage {
  const sought = words.trim().toLowerCase();
  const named = events.described.filter(
    ({ name, short_name }) =>
      sought !== "" && (name.toLowerCase().includes(sought) || short_name.toLowerCase().includes(sought)),
  );
  const found = named
    .filter((each) => track === null || each.track === track)
    .sort((a, b) => a.start_ns - b.start_ns || a.track - b.track || a.row - b.row);
  const following = first ?? found.filter((each) => each.start_ns < from).length;
  const row = folded ? foldedRows(events) : new Map<number, number>();
  const { start_ns, end_ns } = events.busy;
  return {
    count: found.length,
    total_ns: lengthOf(found),
    tracks: tracksOf(named),
    next: Math.min(Math.max(following, 0), found.length),
    first: 0,
    hits: {
      track: found.map((each) => each.track),
      row: found.map((each) => row.get(each.event) ?? each.row),
      start_ns: found.map((each) => each.start_ns),
      length_ns: found.map((each) => each.end_ns - each.start_ns),
      event: found.map((each) => each.event),
      name: found.map((each) => each.name),
    },
    bins_from_ns: start_ns,
    bins_to_ns: end_ns,
    bins: binsOf(found, start_ns, end_ns),
  };
}

const lengthOf = (events: readonly EventDetail[]): number =>
  events.reduce((sum, { start_ns, end_ns }) => sum + end_ns - start_ns, 0);

function tracksOf(events: readonly EventDetail[]): SearchPage["tracks"] {
  const numbers = [...new Set(events.map(({ track }) => track))].sort((a, b) => a - b);
  return numbers.map((track) => {
    const of = events.filter((each) => each.track === track);
    return { track, count: of.length, total_ns: lengthOf(of) };
  });
}

function binsOf(events: readonly EventDetail[], from_ns: number, to_ns: number): number[] {
  const bins = new Array<number>(BINS).fill(0);
  for (const { start_ns } of events) {
    const at = Math.floor(((start_ns - from_ns) * BINS) / (to_ns - from_ns));
    bins[Math.max(0, Math.min(BINS - 1, at))]! += 1;
  }
  return bins;
}

/**
 * A metric of all ranks of a job, from what a report contains of each span of the same run and number as this one, like
 * `tb_steptime/serve/ranks.py`.
 */
function rankMapOf(rows: readonly TrendSpan[], span: string, metric: string): RankMap {
  const chosen = rows.find(({ id }) => id === span);
  const ranks = rows.filter(({ run, number }) => run === chosen?.run && number === chosen.number);
  const steps = [...new Set(ranks.flatMap(({ result }) => result?.steps.map(({ name }) => name) ?? []))];
  steps.sort(byName);
  const values = Float32Array.from(ranks.flatMap(({ result }) => valuesOf(result, metric, steps)));
  const reasons = ranks.map(({ result }) => result?.series.find((series) => series.metric === metric)?.reason ?? null);
  return {
    metric,
    spans: ranks.map(({ id }) => id),
    steps,
    values: letters(values),
    least_high: 0,
    reason: values.some((value) => !Number.isNaN(value)) ? null : (reasons.find((reason) => reason !== null) ?? null),
  };
}

function valuesOf(result: TrendsResult | null, metric: string, steps: readonly string[]): number[] {
  const series = result?.series.find((each) => each.metric === metric);
  return steps.map((name) => {
    const at = result?.steps.findIndex((step) => step.name === name) ?? -1;
    return series?.steps[at] ?? Number.NaN;
  });
}

/** Base64 of 32-bit floats, little endian; the first float is not one of the values. */
function letters(values: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(4 * (values.length + 1)));
  for (const [at, value] of values.entries()) bytes.setFloat32(4 * (at + 1), value, true);
  let binary = "";
  for (const byte of new Uint8Array(bytes.buffer)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Decompresses a text that was compressed and encoded as letters. Rejects if they are truncated or damaged. */
export function decompressed(letters: string): Promise<string> {
  const bytes = Uint8Array.from(atob(letters.trim()), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** Parses JSON whose rows `tb_steptime/serve/report/page.py` stored as columns. */
export const unpacked = (text: string): Json => inRows(JSON.parse(text));

export function inRows(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inRows);
  if ("#" in value) return rowsOf(value["#"] as string[], (value.v as Json[][]).map(inRows) as Json[][]);
  const fields = "'" in value ? (value["'"] as [string, Json][]) : Object.entries(value);
  return Object.fromEntries(fields.map(([name, each]) => [name, inRows(each)]));
}

const rowsOf = (names: readonly string[], columns: readonly Json[][]): Json[] =>
  (columns[0] ?? []).map((_, row) => Object.fromEntries(names.map((name, at) => [name, columns[at]![row]!])));
