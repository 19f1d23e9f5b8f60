/** The text of a source file, requested when it is shown. */

import { useEffect, useState } from "preact/hooks";
import type { Problem, SourceText } from "../../../api.gen";
import { inRounds, retryPause } from "../../../server/watch";
import type { EventSource } from "../../props";

const WAITING_MS = 1_000;

export interface TextAnswer {
  text: SourceText | null;
  /** Why there is no text. */
  problem: Problem | null;
}

const NONE: TextAnswer = { text: null, problem: null };

/** The answer to the current request; never to a previous one. */
export function useSourceText(events: EventSource, span: string, file: string): TextAnswer {
  const name = `${span} ${file}`;
  const [answered, setAnswered] = useState<{ name: string; answer: TextAnswer } | null>(null);
  useEffect(() => {
    const ask = events.source;
    if (!ask) return;
    let unanswered = 0;
    const rounds = inRounds(async (signal) => {
      const answer = await ask(span, file, signal);
      if (signal.aborted) return null;
      unanswered = answer.kind === "gone" ? unanswered + 1 : 0;
      if (unanswered > 0) return retryPause(unanswered);
      if (answer.kind === "ready") setAnswered({ name, answer: { text: answer.value, problem: null } });
      else if (answer.kind === "problem") setAnswered({ name, answer: { text: null, problem: answer.value } });
      return answer.kind === "waiting" ? WAITING_MS : null;
    });
    return rounds.stop;
  }, [events, span, file, name]);
  return answered !== null && answered.name === name ? answered.answer : NONE;
}
