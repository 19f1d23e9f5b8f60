/**
 * Asks the server round after round: one request at a time, none while the tab is hidden, ever less often while nothing
 * answers.
 *
 *     ask ──1 s── ask ──1 s── (hidden: no round) ──── shown: ask at once
 */

import type { Problem } from "../api.gen";
import { browser, type Surroundings } from "./shown";

/** Why there is no answer, and when it is asked for next. */
export interface Trouble {
  problem: Problem;
  retry_ms: number;
}

export interface Rounds {
  /** Ask now, whatever the pause. */
  now(): void;
  /** Aborts the request under way. */
  stop(): void;
}

/** `ask` says how long to wait before it is asked again, ms (null: it has what it needs). */
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

/** The pause after so many requests in a row without an answer (1 or more): 1, 2, 4 ... 30 s. */
export const retryPause = (unanswered: number): number => Math.min(LAST_MS, FIRST_MS * 2 ** (unanswered - 1));
