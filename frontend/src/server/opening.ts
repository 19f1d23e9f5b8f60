/**
 * One request brings everything for the first picture; it is sent before anything is drawn. Beside a plugin that keeps
 * the server busy each request waits long, and requests for index and page would wait one after the other.
 */

import type { Address } from "../address/keys";
import type { Opening, PageOf, ViewId } from "../api.gen";
import type { Answer, Client, Opener } from "./client";
import { type AnswerCache, pageName } from "./use_answer";

/**
 * The client whose first index, catalogue and page come from the opening; the page is in the cache before the index
 * arrives. `view`: a view of a span. If the server is gone, it is gone for all of them; a server of another release,
 * which does not know the route, is asked as usual.
 */
export function opened(client: Client & Opener, address: Address, view: ViewId, cache: AnswerCache): Client {
  const pages: AnswerCache = new Map();
  const opening = client.opening(named(address, view)).then((answer) => {
    if (answer.kind === "ready" && answer.value.page) {
      const page: Answer<unknown> = { kind: "ready", value: answer.value.page };
      for (const target of [pages, cache]) target.set(pageName(view, answer.value.page.head.id), page);
    }
    return answer;
  });
  return {
    ...client,
    index: first(opening, ({ index }) => index, client.index),
    catalogue: first(opening, ({ catalogue }) => catalogue, client.catalogue),
    view<V extends ViewId>(span: string, view: V, signal?: AbortSignal) {
      const name = pageName(view, span);
      const page = pages.get(name) as Answer<PageOf<V>> | undefined;
      pages.delete(name);
      return page ? Promise.resolve(page) : client.view(span, view, signal);
    },
  };
}

type Ask<T> = (signal?: AbortSignal) => Promise<Answer<T>>;

/** Answers the first request with a part of the opening. */
function first<T>(opening: Promise<Answer<Opening>>, part: (opening: Opening) => T, ask: Ask<T>): Ask<T> {
  let isRequested = false;
  return async (signal) => {
    if (isRequested) return ask(signal);
    isRequested = true;
    const answer = await opening;
    if (answer.kind === "ready") return { kind: "ready", value: part(answer.value) };
    return answer.kind === "gone" ? answer : ask(signal);
  };
}

function named({ run, worker, span, steps }: Address, view: ViewId): Record<string, string> {
  const names = { run, worker, number: span?.toString(), steps };
  const named = Object.entries(names).filter((each): each is [string, string] => each[1] !== undefined);
  return { view, ...Object.fromEntries(named) };
}

/** What the server sent along with the script: the answer to the request that most visits begin with. */
declare global {
  /** JSON of an Opening; absent where the server had none ready. Written by `serve/bundle.py`. */
  var stepInsightsOpening: string | undefined;
}

/** The client whose opening is the one that came with the script, if only the overview is requested of it. */
export function broughtAlong<C extends Client & Opener>(client: C): C {
  const brought = globalThis.stepInsightsOpening;
  globalThis.stepInsightsOpening = undefined; // used once: later requests go to the server
  if (brought === undefined) return client;
  const opening = JSON.parse(brought) as Opening;
  return {
    ...client,
    opening: async (query: Record<string, string>) =>
      isPlain(query) ? { kind: "ready", value: opening } : client.opening(query),
  };
}

const isPlain = (query: Record<string, string>): boolean =>
  query.view === "overview" && Object.keys(query).length === 1;
