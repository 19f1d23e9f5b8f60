/** Asks for the index again and again: often while a trace is read, seldom else, never while the tab is hidden. */

import type { Index } from "../api.gen";
import type { Answer } from "./client";

const READING_MS = 1_000;
const IDLE_MS = 5_000;

/** A unanswered server is asked again after this, then twice as long, up to the last. */
const GONE_FIRST_MS = 2_000;
const GONE_LAST_MS = 30_000;

export interface Watched {
  index: Index | null;
  /** When the index last came. */
  received_ms: number;
  /** When a unanswered server is asked next; null while it answers. */
  retry_ms: number | null;
  problem: string | null;
}

export interface Watch {
  /** Ask now, whatever the pollDelay. */
  now(): void;
  stop(): void;
}

export interface Surroundings {
  hidden(): boolean;
  /** Calls when the tab was shown or hidden. */
  listen(changed: () => void): () => void;
  time_ms(): number;
}

export function watchIndex(
  ask: () => Promise<Answer<Index>>,
  report: (watched: Watched) => void,
  around: Surroundings = browser,
): Watch {
  let watched: Watched = { index: null, received_ms: around.time_ms(), retry_ms: null, problem: null };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asking = false;
  let stopped = false;
  let unanswered = 0;

  const round = async () => {
    if (asking || stopped) return;
    clearTimeout(timer);
    asking = true;
    const answer = await ask();
    asking = false;
    if (stopped) return;
    unanswered = answer.kind === "gone" ? unanswered + 1 : 0;
    const pause_ms = unanswered
      ? goneDelay(unanswered)
      : pollDelay(answer.kind === "ready" ? answer.value : watched.index);
    watched = next(watched, answer, around.time_ms(), pause_ms);
    report(watched);
    if (!around.hidden()) timer = setTimeout(round, pause_ms);
  };
  const stopListening = around.listen(() => (around.hidden() ? clearTimeout(timer) : void round()));
  void round();
  return {
    now: () => void round(),
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      stopListening();
    },
  };
}

const goneDelay = (unanswered: number): number => Math.min(GONE_LAST_MS, GONE_FIRST_MS * 2 ** (unanswered - 1));

/** An index of the same version keeps its identity, so that nothing is drawn again. */
function next(before: Watched, answer: Answer<Index>, now_ms: number, pause_ms: number): Watched {
  if (answer.kind === "gone") return { ...before, retry_ms: now_ms + pause_ms };
  if (answer.kind !== "ready") {
    return {
      ...before,
      retry_ms: null,
      problem: answer.kind === "problem" ? `${answer.value.problem}. ${answer.value.hint}` : null,
    };
  }
  const same = before.index?.version === answer.value.version;
  return { index: same ? before.index : answer.value, received_ms: now_ms, retry_ms: null, problem: null };
}

export const pollDelay = (index: Index | null): number => (index && isReading(index) ? READING_MS : IDLE_MS);

/** Whether a file is being read now or waits for its turn: each request lets the server begin with the next ones. */
export function isReading(index: Index): boolean {
  return index.runs.some((run) =>
    run.workers.some((worker) => worker.spans.some(({ state }) => state === "reading" || state === "unread")),
  );
}

/** TensorBoard hides a tab by giving its frame no height. */
export const isHidden = (): boolean => document.visibilityState === "hidden" || window.innerHeight === 0;

const browser: Surroundings = {
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
  time_ms: () => Date.now(),
};
