/**
 * Memory in a window and at an instant: exact figures from the trace; until they arrive, what the summary contains is
 * shown.
 */

import { useEffect, useState } from "preact/hooks";
import type { DeviceMemory, MemoryPage, MemoryResult, Problem } from "../../api.gen";
import { inRounds, retryPause } from "../../server/watch";
import type { TimeRange } from "../../time_range";
import type { EventSource, Tab, Titles } from "../props";

/** Pause between requests while the trace is being read again. */
const WAITING_MS = 1_000;

/** As many bins as a wide picture has pixels. */
const BINS = 1_600;

export interface MemoryAnswer {
  page: MemoryPage | null;
  /** Why there is no page: the trace itself is gone. */
  problem: Problem | null;
  waiting: boolean;
}

const NONE: MemoryAnswer = { page: null, problem: null, waiting: false };

interface Asked {
  device: number;
  /** Null: nothing is requested. */
  window: TimeRange | null;
  at: number | null;
}

/** The answer to the current request; never to a previous one. */
export function useMemoryPage(events: EventSource, span: string, { device, window, at }: Asked): MemoryAnswer {
  const [from, to] = window ? [Math.floor(window.from), Math.ceil(window.to)] : [0, 0];
  const name = window ? [span, device, from, to, at].join() : null;
  const [answered, setAnswered] = useState<{ name: string; answer: MemoryAnswer } | null>(null);
  useEffect(() => {
    if (name === null) return;
    let unanswered = 0;
    const rounds = inRounds(async (signal) => {
      const answer = await events.memory(span, { device, from, to, bins: BINS, at }, signal);
      if (signal.aborted) return null;
      unanswered = answer.kind === "gone" ? unanswered + 1 : 0;
      if (unanswered > 0) return retryPause(unanswered);
      const page = answer.kind === "ready" ? answer.value : null;
      const problem = answer.kind === "problem" ? answer.value : null;
      setAnswered({ name, answer: { page, problem, waiting: answer.kind === "waiting" } });
      return answer.kind === "waiting" ? WAITING_MS : null;
    });
    return rounds.stop;
  }, [events, span, device, from, to, at, name]);
  return answered !== null && answered.name === name ? answered.answer : { ...NONE, waiting: name !== null };
}

/** The inputs of the parts of the Memory view. */
export interface MemoryPart {
  result: MemoryResult;
  device: DeviceMemory;
  /** Index of the device among those of the result. */
  place: number;
  titles: Titles;
  tab: Tab;
  /** The beginning of the names of saved files. */
  name: string;
  zoom: TimeRange | null;
  /** The instant that was clicked, ns from the span's origin; null: the peak is shown. */
  instant: number | null;
  answer: MemoryAnswer;
}
