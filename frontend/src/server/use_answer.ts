/** An answer of the server within a component: asked for when its name changes, cache while it is asked for again. */

import { useEffect, useState } from "preact/hooks";
import { useLatest } from "../dom/latest";
import type { Answer } from "./client";
import { isHidden } from "./watch";

/** While the server does not answer. */
const AGAIN_MS = 1_000;

/** While it is not ready. The index says that sooner; this is for the answer that it cannot tell. */
const WAITING_MS = 1_000;

/** Pages cache, so that going back to a view is at once. */
const MAX_CACHED = 40;

export type AnswerCache = Map<string, Answer<unknown>>;

/**
 * `name` says what is asked for (null: nothing); `version` changes when it may have changed. A new version is asked for
 * behind the old answer; a server that does not answer leaves the old one.
 */
export function useAnswer<T>(
  cache: AnswerCache,
  name: string | null,
  version: string,
  ask: () => Promise<Answer<T>>,
): Answer<T> | null {
  const [, drawAgain] = useState(0);
  const latest = useLatest(ask);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is asked for, whatever it is
  useEffect(() => {
    if (name === null) return;
    let live = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const round = async () => {
      const answer = isHidden() ? null : await latest.current();
      if (!live) return;
      if (answer) store(cache, name, answer);
      if (answer) drawAgain((drawn) => drawn + 1);
      if (answer === null || answer.kind === "gone") timer = setTimeout(round, AGAIN_MS);
      else if (answer.kind === "waiting") timer = setTimeout(round, WAITING_MS);
    };
    void round();
    return () => {
      live = false;
      clearTimeout(timer);
    };
  }, [name, version, cache, latest]);
  return name === null ? null : ((cache.get(name) as Answer<T> | undefined) ?? null);
}

function store(cache: AnswerCache, name: string, answer: Answer<unknown>): void {
  if (answer.kind === "gone" && cache.has(name)) return;
  cache.delete(name);
  cache.set(name, answer);
  for (const oldest of cache.keys()) {
    if (cache.size <= MAX_CACHED) break;
    cache.delete(oldest);
  }
}
