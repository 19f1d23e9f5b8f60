/** An answer of the server within a component: asked for when its name changes, kept while it is asked for again. */

import { useEffect, useState } from "preact/hooks";
import type { Answer } from "./client";
import { isHidden } from "./watch";

/** While the server does not answer. */
const AGAIN_MS = 1_000;

/** While it is not ready. The index tells that sooner; this is for the answer that it cannot tell. */
const WAITING_MS = 5_000;

/** Pages kept, so that going back to a view is at once. */
const KEPT = 40;

export type Kept = Map<string, Answer<unknown>>;

/**
 * `name` says what is asked for (null: nothing); `version` changes when it may have changed. A new version is asked for
 * behind the old answer; a server that does not answer leaves the old one.
 */
export function useAnswer<T>(
  kept: Kept,
  name: string | null,
  version: string,
  ask: () => Promise<Answer<T>>,
): Answer<T> | null {
  const [, drawAgain] = useState(0);
  useEffect(() => {
    if (name === null) return;
    let live = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const round = async () => {
      const answer = isHidden() ? null : await ask();
      if (!live) return;
      if (answer) keep(kept, name, answer);
      if (answer) drawAgain((drawn) => drawn + 1);
      if (answer === null || answer.kind === "gone") timer = setTimeout(round, AGAIN_MS);
      else if (answer.kind === "waiting") timer = setTimeout(round, WAITING_MS);
    };
    void round();
    return () => {
      live = false;
      clearTimeout(timer);
    };
  }, [name, version]);
  return name === null ? null : ((kept.get(name) as Answer<T> | undefined) ?? null);
}

function keep(kept: Kept, name: string, answer: Answer<unknown>): void {
  if (answer.kind === "gone" && kept.has(name)) return;
  kept.delete(name);
  kept.set(name, answer);
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT) break;
    kept.delete(oldest);
  }
}
