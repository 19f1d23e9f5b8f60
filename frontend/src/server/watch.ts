/** Asks for the index again and again: often while a trace is read, seldom else, never while the tab is hidden. */

import type { Index } from "../api.gen";
import type { Answer } from "./client";
import { inRounds, type Rounds, retryPause, type Trouble } from "./rounds";
import { browser, type Surroundings } from "./shown";

const READING_MS = 1_000;
const IDLE_MS = 5_000;

export interface Watched {
  index: Index | null;
  /** When the index last came. */
  received_ms: number;
  /** Null while the server answers. */
  trouble: Trouble | null;
}

/** `report` is called when something changed: an index of another version, trouble, the end of trouble. */
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

/** An index of the same version keeps its identity, so that nothing is drawn again. */
function next(before: Watched, answer: Answer<Index>, now_ms: number, pause_ms: number): Watched {
  if (answer.kind === "waiting") return { ...before, trouble: null };
  if (answer.kind !== "ready") return { ...before, trouble: { problem: answer.value, retry_ms: now_ms + pause_ms } };
  const same = before.index?.version === answer.value.version;
  return { index: same ? before.index : answer.value, received_ms: now_ms, trouble: null };
}

/** That an unchanged index came again is no news: when it came is told with the next trouble. */
const changed = (before: Watched, now: Watched) => before.index !== now.index || before.trouble !== now.trouble;

export const pollDelay = (index: Index | null): number => (index && isReading(index) ? READING_MS : IDLE_MS);

/** Whether a file is being read now or waits for its turn: each request lets the server begin with the next ones. */
export function isReading(index: Index): boolean {
  return index.runs.some((run) =>
    run.workers.some((worker) => worker.spans.some(({ state }) => state === "reading" || state === "unread")),
  );
}
