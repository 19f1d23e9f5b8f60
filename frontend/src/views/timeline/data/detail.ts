/** All details of the event that the address names. */

import { useEffect, useState } from "preact/hooks";
import type { EventDetail } from "../../../api.gen";
import type { Answer, ViewSource } from "../../../server/client";
import { untilReady } from "../../../server/requested";
import { same } from "../../../server/use_answer";

export type AnsweredDetail = { event: number; answer: Answer<EventDetail> } | null;

/** The previous answer stays until the next one arrives; null: no event is chosen. */
export function useDetail(events: ViewSource, span: string, event: number | null, folded: boolean): AnsweredDetail {
  const [answered, setAsked] = useState<AnsweredDetail>(null);
  useEffect(() => {
    if (event === null) {
      setAsked(null);
      return;
    }
    return untilReady(
      (signal) => events.event(span, { event, folded }, signal),
      (answer) =>
        setAsked((before) => (before?.event === event && same(before.answer, answer) ? before : { event, answer })),
    );
  }, [events, span, event, folded]);
  return event === null ? null : answered;
}

export const readyDetail = (answered: AnsweredDetail): EventDetail | null =>
  answered?.answer.kind === "ready" ? answered.answer.value : null;

/** The labels that the server uses for an event's lines of code. */
export const SOURCE_LINES: readonly string[] = ["Source line", "Forward source line"];
