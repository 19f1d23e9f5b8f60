/** Asks for the index again and again: often while a trace is read, seldom else, never while the tab is hidden. */

import type { Index } from "../api.gen";
import type { Answer } from "./client";

const READING_MS = 1_000;
const IDLE_MS = 5_000;

/** A silent server is asked again after this, then twice as long, up to the last. */
const GONE_FIRST_MS = 2_000;
const GONE_LAST_MS = 30_000;

export interface Watched {
  index: Index | null;
  /** When the index last came. */
  heard_ms: number;
  /** When a silent server is asked next; null while it answers. */
  retry_ms: number | null;
  problem: string | null;
}

export interface Watch {
  /** Ask now, whatever the pace. */
  now(): void;
  stop(): void;
}

export interface Surroundings {
  hidden(): boolean;
  /** Calls when the tab was shown or hidden. */
  listen(told: () => void): () => void;
  time_ms(): number;
}

export function watchIndex(
  ask: () => Promise<Answer<Index>>,
  tell: (watched: Watched) => void,
  around: Surroundings = browser,
): Watch {
  let watched: Watched = { index: null, heard_ms: around.time_ms(), retry_ms: null, problem: null };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asking = false;
  let stopped = false;
  let silent = 0;

  const round = async () => {
    if (asking || stopped) return;
    clearTimeout(timer);
    asking = true;
    const answer = await ask();
    asking = false;
    if (stopped) return;
    silent = answer.kind === "gone" ? silent + 1 : 0;
    const pause_ms = silent ? goneFor(silent) : pace(answer.kind === "ready" ? answer.value : watched.index);
    watched = next(watched, answer, around.time_ms(), pause_ms);
    tell(watched);
    if (!around.hidden()) timer = setTimeout(round, pause_ms);
  };
  const deaf = around.listen(() => (around.hidden() ? clearTimeout(timer) : void round()));
  void round();
  return {
    now: () => void round(),
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      deaf();
    },
  };
}

const goneFor = (silent: number): number => Math.min(GONE_LAST_MS, GONE_FIRST_MS * 2 ** (silent - 1));

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
  return { index: same ? before.index : answer.value, heard_ms: now_ms, retry_ms: null, problem: null };
}

export const pace = (index: Index | null): number => (index && isReading(index) ? READING_MS : IDLE_MS);

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
  listen(told) {
    let was = isHidden();
    const changed = () => {
      const now = isHidden();
      if (now !== was) told();
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
