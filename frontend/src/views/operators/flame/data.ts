/** The call paths of a span, which come from the trace: requested only when the picture scrolls into view. */

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FlamePage, Problem } from "../../../api.gen";
import { inRounds, retryPause } from "../../../server/watch";
import type { EventSource } from "../../props";

/** Pause between requests while the trace is being read again. */
const WAITING_MS = 1_000;

export interface FlameAnswer {
  page: FlamePage | null;
  /** Why there is no page: the trace itself is gone, or this is a report. */
  problem: Problem | null;
}

const NONE: FlameAnswer = { page: null, problem: null };

type Paths = Pick<FlamePage, "by" | "where">;

/** The answer to the current request; never to a previous one. */
export function useFlamePage(events: EventSource, span: string, { by, where }: Paths, wanted: boolean): FlameAnswer {
  const name = wanted ? [span, by, where].join() : null;
  const [answered, setAnswered] = useState<{ name: string; answer: FlameAnswer } | null>(null);
  useEffect(() => {
    if (name === null) return;
    let unanswered = 0;
    const rounds = inRounds(async (signal) => {
      const answer = await events.flame(span, { by, where }, signal);
      await aTask(); // a large answer took long to read: it is processed after the reader's pending input
      if (signal.aborted) return null;
      unanswered = answer.kind === "gone" ? unanswered + 1 : 0;
      if (unanswered > 0) return retryPause(unanswered);
      if (answer.kind === "ready") setAnswered({ name, answer: { page: answer.value, problem: null } });
      else if (answer.kind === "problem") setAnswered({ name, answer: { page: null, problem: answer.value } });
      return answer.kind === "waiting" ? WAITING_MS : null;
    });
    return rounds.stop;
  }, [events, span, by, where, name]);
  return answered !== null && answered.name === name ? answered.answer : NONE;
}

/** Continues in a new task. */
export const aTask = (): Promise<void> => new Promise((done) => setTimeout(done));

/** True once the element has been near the window. */
export function useSeen(element: RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState(typeof IntersectionObserver === "undefined");
  useEffect(() => {
    if (seen) return;
    const observer = new IntersectionObserver((found) => found.some((each) => each.isIntersecting) && setSeen(true), {
      rootMargin: "200px",
    });
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, [element, seen]);
  return seen;
}
