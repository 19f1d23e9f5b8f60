/**
 * Requests the index repeatedly: often while a trace is being read, seldom otherwise, never while the tab is hidden.
 */

import type { Index, Problem } from "../api.gen";
import type { Answer } from "./client";

const READING_MS = 1_000;
const IDLE_MS = 5_000;

export interface Watched {
  index: Index | null;
  received_ms: number;
  /** Null while the server answers. */
  trouble: Trouble | null;
}

/** `report` is called when something changed: an index of another version, trouble, or the end of trouble. */
export function watchIndex(
  ask: (signal: AbortSignal) => Promise<Answer<Index>>,
  report: (watched: Watched) => void,
  around: Surroundings = browser,
): Rounds {
  let watched: Watched = { index: null, received_ms: Date.now(), trouble: null };
  let unanswered = 0;
  return inRounds(async (signal) => {
    const answer = await ask(signal);
    if (signal.aborted) return null;
    unanswered = isTrouble(answer) ? unanswered + 1 : 0;
    const index = answer.kind === "ready" ? answer.value : watched.index;
    const pause_ms = unanswered > 0 ? retryPause(unanswered) : pollDelay(index);
    const before = watched;
    watched = next(before, answer, Date.now(), pause_ms);
    if (changed(before, watched)) report(watched);
    return pause_ms;
  }, around);
}

const isTrouble = (answer: Answer<Index>) => answer.kind === "gone" || answer.kind === "problem";

/** An index of the same version keeps its identity, so that nothing is rendered again. */
function next(before: Watched, answer: Answer<Index>, now_ms: number, pause_ms: number): Watched {
  if (answer.kind === "waiting") return { ...before, trouble: null };
  if (answer.kind !== "ready") return { ...before, trouble: { problem: answer.value, retry_ms: now_ms + pause_ms } };
  const same = before.index?.version === answer.value.version;
  return { index: same ? before.index : answer.value, received_ms: now_ms, trouble: null };
}

/** An unchanged index is not reported: the time when it arrived is reported with the next trouble. */
const changed = (before: Watched, now: Watched) => before.index !== now.index || before.trouble !== now.trouble;

const pollDelay = (index: Index | null): number => (index && isReading(index) ? READING_MS : IDLE_MS);

/** Whether a file is being read or waits to be read: each request makes the server start with the next ones. */
export function isReading(index: Index): boolean {
  return index.runs.some((run) =>
    run.workers.some((worker) => worker.spans.some(({ state }) => state === "reading" || state === "unread")),
  );
}

/** Why there is no answer, and when the next request is. */
export interface Trouble {
  problem: Problem;
  retry_ms: number;
}

export interface Rounds {
  /** Sends a request now, regardless of the pause. */
  now(): void;
  /** Aborts the request under way. */
  stop(): void;
}

/** `ask` returns how long to wait before the next request, ms (null: it has what it needs). */
export function inRounds(ask: (signal: AbortSignal) => Promise<number | null>, around: Surroundings = browser): Rounds {
  const stopped = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause_ms: number | null = null;
  let asking = false;

  const round = async () => {
    if (asking || stopped.signal.aborted) return;
    clearTimeout(timer);
    asking = true;
    pause_ms = await ask(stopped.signal);
    asking = false;
    if (pause_ms === null || around.hidden() || stopped.signal.aborted) return;
    timer = setTimeout(round, pause_ms);
  };
  const stopListening = around.listen(() => {
    if (around.hidden()) clearTimeout(timer);
    else if (pause_ms !== null) void round();
  });
  void round();
  return {
    now: () => void round(),
    stop: () => {
      stopped.abort();
      clearTimeout(timer);
      stopListening();
    },
  };
}

const FIRST_MS = 1_000;
const LAST_MS = 30_000;

/** The pause after so many unanswered requests in a row (1 or more): 1, 2, 4 ... 30 s. */
export const retryPause = (unanswered: number): number => Math.min(LAST_MS, FIRST_MS * 2 ** (unanswered - 1));

/** TensorBoard hides a tab by giving its frame no height. */
export const isHidden = (): boolean => document.visibilityState === "hidden" || window.innerHeight === 0;

interface Surroundings {
  hidden(): boolean;
  /** Calls `changed` when the tab is shown or hidden, until the returned function is called. */
  listen(changed: () => void): () => void;
}

export const browser: Surroundings = {
  hidden: isHidden,
  listen(notify) {
    let was = isHidden();
    const changed = () => {
      const now = isHidden();
      if (now !== was) notify();
      was = now;
    };
    document.addEventListener("visibilitychange", changed);
    window.addEventListener("resize", changed);
    return () => {
      document.removeEventListener("visibilitychange", changed);
      window.removeEventListener("resize", changed);
    };
  },
};
