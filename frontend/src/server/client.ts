/**
 * Talks to the plugin's routes, which stand next to the bundle. Relative addresses only: proxies and prefixes then
 * work.
 */

import type {
  Catalogue,
  EventDetail,
  Index,
  PageOf,
  Problem,
  TimelinePage,
  TrendsPage,
  ViewId,
  Waiting,
} from "../api.gen";

/** What came of a request. Gone: nothing answered. */
export type Answer<T> =
  | { kind: "ready"; value: T }
  | { kind: "waiting"; value: Waiting }
  | { kind: "problem"; value: Problem }
  | { kind: "gone" };

export interface Client {
  index(): Promise<Answer<Index>>;
  catalogue(): Promise<Answer<Catalogue>>;
  view<V extends ViewId>(span: string, view: V): Promise<Answer<PageOf<V>>>;
  /** Of these runs (none named: all). Titles speak of the one in focus (null: the last). */
  trends(runs: readonly string[], focus: string | null): Promise<Answer<TrendsPage>>;
  /** Events that touch a range of a span, ns from its origin; those narrower than `detail` stand together. */
  timeline(
    span: string,
    range: { from: number; to: number; detail_ns: number },
    signal: AbortSignal,
  ): Promise<Answer<TimelinePage>>;
  /** All about one event. */
  event(span: string, event: number, signal: AbortSignal): Promise<Answer<EventDetail>>;
  /** Analyse a span again after a failure. */
  retry(span: string): Promise<Answer<never>>;
}

/** The routes begin work only for requests with this header, which a link from another page cannot carry. */
const HEADERS = { "X-Tb-Steptime": "1" };

/** A server that has not answered for so long is gone: a proxy may hold a dead connection open for minutes. */
const PATIENCE_MS = 20_000;

export function openClient(fetched: typeof fetch = fetch.bind(globalThis)): Client {
  const ask = <T>(route: string, query: Record<string, string> | string[][] = {}, signal?: AbortSignal) =>
    request<T>(fetched, address(route, query), signal);
  return {
    index: () => ask("index"),
    catalogue: () => ask("catalogue"),
    view: (span, view) => ask("view", { span, view }),
    trends: (runs, focus) =>
      ask("trends", [...runs.map((run) => ["run", run]), ...(focus === null ? [] : [["focus", focus]])]),
    timeline: (span, { from, to, detail_ns }, signal) =>
      ask("timeline", { span, from: String(from), to: String(to), detail: String(detail_ns) }, signal),
    event: (span, event, signal) => ask("event", { span, event: String(event) }, signal),
    retry: (span) => ask("retry", { span }),
  };
}

function address(route: string, query: Record<string, string> | string[][]): string {
  const asked = new URLSearchParams(query).toString();
  return asked ? `${route}?${asked}` : route;
}

/** An abandoned request answers "gone"; whoever abandoned it does not listen any more. */
async function request<T>(fetched: typeof fetch, url: string, abandoned?: AbortSignal): Promise<Answer<T>> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const signal = abandoned ? AbortSignal.any([abandoned, patience]) : patience;
  try {
    // "no-cache" asks with the ETag of the last answer; an unchanged index is then not sent again.
    const response = await fetched(url, { headers: HEADERS, cache: "no-cache", signal });
    return await answered<T>(response);
  } catch {
    return { kind: "gone" };
  }
}

async function answered<T>(response: Response): Promise<Answer<T>> {
  const json = response.headers.get("Content-Type")?.includes("json") ?? false;
  if (json && response.status === 202) return { kind: "waiting", value: (await response.json()) as Waiting };
  if (json && response.ok) return { kind: "ready", value: (await response.json()) as T };
  if (json) return { kind: "problem", value: (await response.json()) as Problem };
  return response.status >= 500 ? { kind: "gone" } : { kind: "problem", value: foreign(response) };
}

/** An answer that is not the plugin's: a proxy's login page, a TensorBoard without the plugin. */
function foreign(response: Response): Problem {
  return {
    problem: `The server answered ${response.status} and not with figures`,
    file: "",
    hint: "Is a login needed, or was TensorBoard started again without this plugin? Reload the page.",
  };
}
