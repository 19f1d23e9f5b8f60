/** Talks to the plugin's routes, which stand beside the bundle. Relative addresses only: proxies and prefixes then work. */

import type { Catalogue, Index, PageOf, Problem, TrendsPage, ViewId, Waiting } from "./api.gen";

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
  /** Analyse a span again after a failure. */
  retry(span: string): Promise<Answer<never>>;
}

/** The routes begin work only for requests with this header, which a link from another page cannot carry. */
const HEADERS = { "X-Tb-Steptime": "1" };

/** A server that has not answered for so long is gone: a proxy may hold a dead connection open for minutes. */
const PATIENCE_MS = 20_000;

export function openClient(fetched: typeof fetch = fetch.bind(globalThis)): Client {
  const ask = <T>(route: string, query: Record<string, string> | string[][] = {}) => request<T>(fetched, address(route, query));
  return {
    index: () => ask("index"),
    catalogue: () => ask("catalogue"),
    view: (span, view) => ask("view", { span, view }),
    trends: (runs, focus) => ask("trends", [...runs.map((run) => ["run", run]), ...(focus === null ? [] : [["focus", focus]])]),
    retry: (span) => ask("retry", { span }),
  };
}

function address(route: string, query: Record<string, string> | string[][]): string {
  const asked = new URLSearchParams(query).toString();
  return asked ? `${route}?${asked}` : route;
}

async function request<T>(fetched: typeof fetch, url: string): Promise<Answer<T>> {
  try {
    // "no-cache" asks with the ETag of the last answer; an unchanged index is then not sent again.
    const response = await fetched(url, { headers: HEADERS, cache: "no-cache", signal: AbortSignal.timeout(PATIENCE_MS) });
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
