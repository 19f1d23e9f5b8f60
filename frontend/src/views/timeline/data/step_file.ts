/** A step as a trace of its own, which the server cuts out when it is asked for. */

import { useEffect, useState } from "preact/hooks";
import type { Answer, SavedFile } from "../../../server/client";
import { inRounds, retryPause } from "../../../server/rounds";
import type { EventSource } from "../../props";

/** While it is cut out. */
const WAITING_MS = 500;

/** Null: no step is wanted, or there is no answer yet. */
export function useStepFile(events: EventSource, span: string, step: string | null): Answer<SavedFile> | null {
  const [answer, setAnswer] = useState<Answer<SavedFile> | null>(null);
  useEffect(() => {
    setAnswer(null);
    if (step === null) return;
    let unanswered = 0;
    const { stop } = inRounds(async (signal) => {
      const found = await events.stepFile(span, step, signal);
      if (signal.aborted) return null;
      setAnswer(found);
      unanswered = found.kind === "gone" ? unanswered + 1 : 0;
      if (unanswered > 0) return retryPause(unanswered);
      return found.kind === "waiting" ? WAITING_MS : null;
    });
    return stop;
  }, [events, span, step]);
  return answer;
}
