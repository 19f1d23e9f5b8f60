/** What a view requests apart from its page: asked for until it is there, and not once something else is wanted. */

import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../api.gen";
import { useLatest } from "../dom/hooks";
import type { Answer } from "./client";
import { inRounds, retryPause } from "./watch";

/** Pause between requests for what is not ready, such as the events of a trace that is being read again. */
const WAITING_MS = 1_000;

/**
 * Requests an answer until it is there: again while it is not ready, and after ever longer pauses where none arrives.
 * `take` gets each of them, "gone" too, until the returned function is called.
 *
 * rest_ms: the first request is sent after this time, during which what is requested may change; without it at once.
 * waiting_ms: the pause while the answer is not ready.
 */
export function untilReady<T>(
  ask: (signal: AbortSignal) => Promise<Answer<T>>,
  take: (answer: Answer<T>) => void,
  { rest_ms, waiting_ms = WAITING_MS }: { rest_ms?: number; waiting_ms?: number } = {},
): () => void {
  let unanswered = 0;
  let stop = () => {};
  const begin = () => {
    ({ stop } = inRounds(async (signal) => {
      const answer = await ask(signal);
      if (signal.aborted) return null;
      take(answer);
      unanswered = answer.kind === "gone" ? unanswered + 1 : 0;
      if (unanswered > 0) return retryPause(unanswered);
      return answer.kind === "waiting" ? waiting_ms : null;
    }));
  };
  if (rest_ms === undefined) begin();
  const timer = rest_ms === undefined ? undefined : setTimeout(begin, rest_ms);
  return () => {
    clearTimeout(timer);
    stop();
  };
}

export interface Requested<T> {
  page: T | null;
  /**
   * Why there is no page: the trace itself is gone, this is a report, or the server did not answer. In the last case
   * it is asked again, and the problem goes once it answers.
   */
  problem: Problem | null;
  /** Whether it is requested and neither of both has arrived. */
  waiting: boolean;
}

/** Why an answer is none; null where it is one, or is on its way. */
export const problemOf = <T>({ kind, value }: Answer<T>): Problem | null =>
  kind === "problem" || kind === "gone" ? value : null;

/**
 * What belongs to a page and is requested apart from it, from `source`; null: nothing is requested. The answer is that
 * to the request of this name. `stays`: until it arrives, the page is that of the previous name; else there is none.
 * rest_ms: as in `untilReady`.
 */
export function useRequested<T>(
  source: object,
  name: string | null,
  ask: (signal: AbortSignal) => Promise<Answer<T>>,
  stays = false,
  rest_ms?: number,
): Requested<T> {
  const [found, setFound] = useState<{ name: string; page: T | null; problem: Problem | null } | null>(null);
  const latest = useLatest(ask);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another source is asked anew
  useEffect(() => {
    if (name === null) return;
    const take = (answer: Answer<T>) =>
      setFound((before) => ({
        name,
        page:
          answer.kind === "ready" ? answer.value : stays && answer.kind !== "problem" ? (before?.page ?? null) : null,
        problem: problemOf(answer),
      }));
    return untilReady(latest.current, take, rest_ms === undefined ? {} : { rest_ms });
  }, [source, name, latest]);
  const own = found?.name === name ? found : null;
  const page = (stays ? found : own)?.page ?? null;
  const problem = own?.problem ?? null;
  return { page, problem, waiting: name !== null && page === null && problem === null };
}
