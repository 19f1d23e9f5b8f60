/** All about the event that the address names. */

import { useEffect, useState } from "preact/hooks";
import type { EventDetail } from "../../../api.gen";
import type { Answer } from "../../../server/client";
import type { EventSource } from "../../props";

const AGAIN_MS = 1_000;

export type Asked = { event: number; answer: Answer<EventDetail> } | null;

/** The answer of before stands until the next is there; null: nothing is chosen. */
export function useDetail(events: EventSource, span: string, event: number | null): Asked {
  const [asked, setAsked] = useState<Asked>(null);
  useEffect(() => {
    if (event === null) {
      setAsked(null);
      return;
    }
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const round = async () => {
      const answer = await events.event(span, event, abort.signal);
      if (abort.signal.aborted) return;
      setAsked({ event, answer });
      if (answer.kind === "waiting" || answer.kind === "gone") timer = setTimeout(round, AGAIN_MS);
    };
    void round();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [events, span, event]);
  return event === null ? null : asked;
}

export const readyDetail = (asked: Asked): EventDetail | null =>
  asked?.answer.kind === "ready" ? asked.answer.value : null;
