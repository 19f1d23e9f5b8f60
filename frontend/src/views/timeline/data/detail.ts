/** All details of the event that the address names. */

import { useEffect, useState } from "preact/hooks";
import type { EventDetail } from "../../../api.gen";
import type { Answer } from "../../../server/client";
import { same } from "../../../server/use_answer";
import { inRounds, retryPause } from "../../../server/watch";
import type { EventSource } from "../../props";

/** Pause between requests while the trace is being read again. */
const WAITING_MS = 1_000;

export type Asked = { event: number; answer: Answer<EventDetail> } | null;

/** The previous answer stays until the next one arrives; null: no event is chosen. */
export function useDetail(events: EventSource, span: string, event: number | null, folded: boolean): Asked {
  const [asked, setAsked] = useState<Asked>(null);
  useEffect(() => {
    if (event === null) {
      setAsked(null);
      return;
    }
    let unanswered = 0;
    const rounds = inRounds(async (signal) => {
      const answer = await events.event(span, { event, folded }, signal);
      if (signal.aborted) return null;
      setAsked((before) => (before?.event === event && same(before.answer, answer) ? before : { event, answer }));
      unanswered = answer.kind === "gone" ? unanswered + 1 : 0;
      if (unanswered > 0) return retryPause(unanswered);
      return answer.kind === "waiting" ? WAITING_MS : null;
    });
    return rounds.stop;
  }, [events, span, event, folded]);
  return event === null ? null : asked;
}

export const readyDetail = (asked: Asked): EventDetail | null =>
  asked?.answer.kind === "ready" ? asked.answer.value : null;

/** The labels that the server uses for an event's lines of code. */
export const SOURCE_LINES: readonly string[] = ["Source line", "Forward source line"];
