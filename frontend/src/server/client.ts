/**
 * Talks to the plugin's routes, which are next to the bundle. All addresses are relative, so that proxies and prefixes
 * work.
 */

import type {
  BusyBins,
  Catalogue,
  ChainPage,
  ComparePage,
  EventDetail,
  FlamePage,
  IncludedSteps,
  Index,
  JobSteps,
  JobTimeline,
  MemoryPage,
  Opening,
  PageOf,
  Problem,
  RankMap,
  RanksPage,
  RunsPage,
  Scalars,
  SearchPage,
  SnapshotPage,
  SourceText,
  TimelinePage,
  TrendSeries,
  TrendsPage,
  ViewId,
  Waiting,
} from "../api.gen";

import type { TimeRange } from "../time_range";

/**
 * The outcome of a request. Problem: the server says why it cannot answer, and would say so again. Gone: no answer, or
 * none that can be read; that may pass, so the caller asks again, each time after a longer pause.
 */
export type Answer<T> =
  | { kind: "ready"; value: T }
  | { kind: "waiting"; value: Waiting }
  | { kind: "problem"; value: Problem }
  | { kind: "gone"; value: Problem };

/**
 * For many spans: only the series of these metrics, and the time bins of only so many spans, those with the longest
 * steps.
 */
export interface TrendsPart {
  metrics: readonly string[];
  strips: number;
}

/** For the job timeline: a window of a step, in so many bins. visible: null means all of it. */
export interface LanesQuery {
  step: string;
  visible: TimeRange | null;
  bins: number;
}

/** Keys and values as the address has them. */
export type Place = Readonly<Record<string, string>>;

export interface SavedFile {
  name: string;
  blob: Blob;
}

/**
 * What views request by themselves, because it does not come with their page. Each request ends when its signal is
 * aborted: the user went to another view or span.
 */
export interface ViewSource {
  /** The steps of which single events are available, null: none. Absent: all. */
  held?(span: string): IncludedSteps | null;
  /** One metric of these runs (none named: all), where the trends left it out. */
  series(runs: readonly string[], metric: string, signal: AbortSignal): Promise<Answer<TrendSeries>>;
  /** The job's own scalars, from its event files; without a tag only the list of tags. */
  scalars(run: string, tag: string | null, signal: AbortSignal): Promise<Answer<Scalars>>;
  /** Every step of a run, as the recorder timed them. */
  jobSteps(run: string, signal: AbortSignal): Promise<Answer<JobSteps>>;
  /**
   * Events that touch a range of a span, ns from its origin; those narrower than `detail` are merged. Folded: without
   * Python frames outside the user's code.
   */
  timeline(
    span: string,
    range: { from: number; to: number; detail_ns: number; folded: boolean },
    signal: AbortSignal,
  ): Promise<Answer<TimelinePage>>;
  /** How busy a range of a span was, in so many bins. */
  busy(span: string, range: { from: number; to: number; bins: number }, signal: AbortSignal): Promise<Answer<BusyBins>>;
  /** How much memory a device of a span had allocated in a range, and what was alive at an instant. */
  memory(
    span: string,
    query: { device: number; from: number; to: number; bins: number; at: number | null },
    signal: AbortSignal,
  ): Promise<Answer<MemoryPage>>;
  /**
   * Call paths over the steps, grouped, with work of the backward pass counted where it ran or where it was created.
   */
  flame(span: string, query: Pick<FlamePage, "by" | "where">, signal: AbortSignal): Promise<Answer<FlamePage>>;
  /** The text of a source file that the span's lines name. Absent: this is a report. */
  source?(span: string, file: string, signal: AbortSignal): Promise<Answer<SourceText>>;
  /** All details of one event, with its rows as the picture has them. */
  event(span: string, query: { event: number; folded: boolean }, signal: AbortSignal): Promise<Answer<EventDetail>>;
  /** A step as a trace file of its own, gzipped. */
  stepFile(span: string, step: string, signal: AbortSignal): Promise<Answer<SavedFile>>;
  /** A metric of all ranks of the job to which a span belongs, by step. */
  rankMap(span: string, metric: string, signal: AbortSignal): Promise<Answer<RankMap>>;
  /** A step of that job on a common clock; the typical step where none is named. Absent: this is a report. */
  jobTimeline?(span: string, query: LanesQuery, signal: AbortSignal): Promise<Answer<JobTimeline>>;
  /** Searches the events of the whole span by name: hits from an instant on, or from an index in time order. */
  search(
    span: string,
    query: { words: string; track: number | null; folded: boolean; from: number; first?: number },
    signal: AbortSignal,
  ): Promise<Answer<SearchPage>>;
}

export interface Client extends ViewSource {
  /** When the answers were saved; absent: the server gives current answers. */
  written_ms?: number;
  index(signal?: AbortSignal): Promise<Answer<Index>>;
  catalogue(signal?: AbortSignal): Promise<Answer<Catalogue>>;
  view<V extends ViewId>(span: string, view: V, signal?: AbortSignal): Promise<Answer<PageOf<V>>>;
  /** The trends of these runs (none named: all). Titles are about the run in focus (null: the last). */
  trends(
    runs: readonly string[],
    focus: string | null,
    signal?: AbortSignal,
    part?: TrendsPart,
  ): Promise<Answer<TrendsPage>>;
  /** A memory snapshot. Absent: this is a report. */
  snapshot?(id: string, query: Record<string, string>, signal: AbortSignal): Promise<Answer<SnapshotPage>>;
  /** The ranks of the job to which a span belongs. */
  ranks(span: string, signal: AbortSignal): Promise<Answer<RanksPage>>;
  /** Compares the worker of one span, with all that is read of it, with the worker of another. */
  compare(base: string, candidate: string, signal: AbortSignal): Promise<Answer<ComparePage>>;
  /** These runs (none named: all), those of `order` first, the others in the order in which they were recorded. */
  chain(runs: readonly string[], order: readonly string[], signal: AbortSignal): Promise<Answer<ChainPage>>;
  /** The table of all runs. Absent: this is a report. */
  runs?(signal: AbortSignal): Promise<Answer<RunsPage>>;
  /**
   * Everything as one page that needs no server and opens at this place, with the ids of what is compared there; null
   * where it could not be fetched. Absent: this already is such a page.
   */
  report?(place: Place, compared: { base: string; candidate: string } | null): Promise<Blob | null>;
  retry(span: string): Promise<Answer<never>>;
}

/** The first answer, for a page that has none: everything that the first picture of the address needs. */
export interface Opener {
  opening(query: Record<string, string>): Promise<Answer<Opening>>;
}

/** The routes start work only for requests with this header, which a link from another page cannot send. */
const HEADERS = { "X-Tb-Steptime": "1" };

/** A server that has not answered for this long counts as gone: a proxy may keep a dead connection open for minutes. */
const PATIENCE_MS = 20_000;

export function openClient(fetched: typeof fetch = fetch.bind(globalThis)): Client & Opener {
  const ask = <T>(route: string, query: Query = {}, signal?: AbortSignal) =>
    request<T>(fetched, address(route, query), signal);
  return {
    opening: (query) => ask("opening", query),
    index: (signal) => ask("index", {}, signal),
    catalogue: (signal) => ask("catalogue", {}, signal),
    view: (span, view, signal) => ask("view", { span, view }, signal),
    trends: (runs, focus, signal, part) =>
      ask("trends", { run: runs, focus, metric: part?.metrics, strips: part?.strips }, signal),
    series: (runs, metric, signal) => ask("series", { run: runs, metric }, signal),
    scalars: (run, tag, signal) => ask("scalars", { run, tag }, signal),
    jobSteps: (run, signal) => ask("job_steps", { run }, signal),
    busy: (span, query, signal) => ask("busy", { span, ...query }, signal),
    timeline: (span, { detail_ns: detail, folded, ...range }, signal) =>
      ask("timeline", { span, ...range, detail, frames: framesOf(folded) }, signal),
    memory: (span, query, signal) => ask("memory", { span, ...query }, signal),
    snapshot: (id, query, signal) => ask("snapshot", { id, ...query }, signal),
    flame: (span, query, signal) => ask("flame", { span, ...query }, signal),
    source: (span, file, signal) => ask("source", { span, file }, signal),
    event: (span, { event, folded }, signal) => ask("event", { span, event, frames: framesOf(folded) }, signal),
    stepFile: (span, step, signal) => requestFile(fetched, address("slice", { span, first: step, last: step }), signal),
    runs: (signal) => ask("runs", {}, signal),
    ranks: (span, signal) => ask("ranks", { span }, signal),
    rankMap: (span, metric, signal) => ask("rank_map", { span, metric }, signal),
    jobTimeline: (span, { step, visible, bins }, signal) =>
      ask("job_timeline", { span, step, bins, from: visible?.from, to: visible?.to }, signal),
    compare: (base, candidate, signal) => ask("compare", { base, candidate }, signal),
    chain: (runs, order, signal) => ask("chain", { run: runs, order }, signal),
    search: (span, { folded, ...query }, signal) => ask("search", { span, ...query, frames: framesOf(folded) }, signal),
    report: (place, compared) => {
      const [key, value] = [Object.keys(place), Object.values(place)];
      return page(fetched, address("report", { key, value, ...compared }));
    },
    retry: (span) => ask("retry", { span }),
  };
}

const framesOf = (folded: boolean) => (folded ? "own" : null);

/** What a route is asked: a list repeats its key, and what is null or undefined is left out. */
type Query = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

function address(route: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    [value ?? []].flat().map((each) => [key, String(each)]),
  );
  return pairs.length > 0 ? `${route}?${new URLSearchParams(pairs)}` : route;
}

/** An aborted request resolves to "gone"; its caller no longer listens. */
async function request<T>(fetched: typeof fetch, url: string, abandoned?: AbortSignal): Promise<Answer<T>> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const signal = abandoned ? AbortSignal.any([abandoned, patience]) : patience;
  try {
    // "no-cache" sends the ETag of the last answer; an unchanged index is then not sent again.
    const response = await fetched(url, { headers: HEADERS, cache: "no-cache", signal });
    return await answered<T>(response);
  } catch (error) {
    return { kind: "gone", value: patience.aborted ? SLOW : error instanceof SyntaxError ? BROKEN : SILENT };
  }
}

const NAMED = /filename="([^"]+)"/;

/** Only the beginning of the answer has a time limit: the file itself may take long. */
async function requestFile(fetched: typeof fetch, url: string, abandoned: AbortSignal): Promise<Answer<SavedFile>> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
  try {
    const response = await fetched(url, { headers: HEADERS, signal: AbortSignal.any([abandoned, patience.signal]) });
    clearTimeout(timer);
    const name = NAMED.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
    if (response.status !== 200 || name === undefined) return await answered(response);
    return { kind: "ready", value: { name, blob: await response.blob() } };
  } catch (error) {
    return { kind: "gone", value: patience.signal.aborted ? SLOW : error instanceof SyntaxError ? BROKEN : SILENT };
  } finally {
    clearTimeout(timer);
  }
}

/** There is no time limit: writing the page takes as long as its size requires. */
async function page(fetched: typeof fetch, url: string): Promise<Blob | null> {
  try {
    const response = await fetched(url, { headers: HEADERS });
    return response.ok ? await response.blob() : null;
  } catch {
    return null;
  }
}

async function answered<T>(response: Response): Promise<Answer<T>> {
  const json = response.headers.get("Content-Type")?.includes("json") ?? false;
  const gone = response.status >= 500;
  if (!json) return { kind: gone ? "gone" : "problem", value: gone ? fault(response) : foreign(response) };
  const value: unknown = await response.json();
  if (typeof value !== "object" || value === null) throw new SyntaxError("No object");
  if (response.status === 202) return { kind: "waiting", value: value as Waiting };
  if (response.ok) return { kind: "ready", value: value as T };
  return { kind: gone ? "gone" : "problem", value: value as Problem };
}

/** A problem that concerns no file. */
export const withoutFile = (problem: string, hint: string): Problem => ({ problem, file: "", hint });

/** Nothing listens at the address. */
export const SILENT = withoutFile("TensorBoard does not answer", "Is it still running? Does the network reach it?");

const SLOW = withoutFile(
  `TensorBoard did not answer within ${PATIENCE_MS / 1000} s`,
  "It may be busy with large traces, or with another plugin.",
);

const BROKEN = withoutFile(
  "The answer of TensorBoard cannot be read: it is not whole JSON",
  "Was the connection cut, or does a proxy change answers?",
);

const fault = (response: Response) =>
  withoutFile(
    `The server answered with error ${response.status}`,
    "A proxy answers so while TensorBoard starts or is busy. If not, see the terminal that runs TensorBoard.",
  );

/** An answer that is not the plugin's: a proxy's login page, a TensorBoard without the plugin. */
const foreign = (response: Response) =>
  withoutFile(
    `The server sent status ${response.status} instead of figures`,
    "Is a login needed, or does TensorBoard run without this plugin? Reload the page.",
  );
