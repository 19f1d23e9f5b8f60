/** The part of the tab that draws a view: loaded when it is needed, or ahead of that while the browser is idle. */

import { useEffect } from "preact/hooks";
import type { Problem, ViewId } from "../api.gen";
import { CONVERTER } from "../dom/save";
import { later, type Part } from "../lazy";
import type { Answer } from "../server/client";
import { type AnswerCache, type Requested, useAnswer } from "../server/use_answer";
import { beginToLoad, VIEWS } from "../views";
import { PALETTE } from "./palette/palette_button";
import { SHEET } from "./shortcuts";

type Content = NonNullable<unknown>;

/** The view's component. It is requested like a page: repeatedly while the server is gone. */
export const usePart = (view: ViewId, cache: AnswerCache): Requested<Content> =>
  usePartOf<Content>(view, view === "compare" ? PAIR : VIEWS[view].part, cache);

/** Compare with what the frame shows above it. */
export const PAIR = later(async () => {
  const [{ PairContent }] = await Promise.all([import("./pair_content"), VIEWS.compare.part.load()]);
  return PairContent;
});

export function usePartOf<T extends Content>(name: string, part: Part<T>, cache: AnswerCache): Requested<Content> {
  const loaded = part.now();
  const request = useAnswer<Content>(cache, loaded ? null : `part ${name}`, "", () => answerOf(part));
  return loaded ? { ...request, answer: { kind: "ready", value: loaded }, trouble: null } : request;
}

async function answerOf(part: Part<Content>): Promise<Answer<Content>> {
  try {
    return { kind: "ready", value: await part.load() };
  } catch (error) {
    console.warn(error);
    return { kind: "gone", value: MISSING };
  }
}

export const MISSING: Problem = {
  problem: "The part of the tab that draws this view could not be loaded",
  file: "",
  hint: "Does TensorBoard still run? After an update of this plugin, reload the page.",
};

/** What a view waits for: its answer and the part that draws it. A problem needs no part. */
export function withPart<T>(request: Requested<T>, part: Requested<Content>): Requested<T> {
  if (part.answer?.kind === "ready" || request.answer?.kind === "problem") return request;
  const again = () => {
    request.again();
    part.again();
  };
  return { answer: null, trouble: request.trouble ?? part.trouble, again };
}

/** Loads what the first view did without once it is `ready`, one part after the other, so that each opens at once. */
export function useOtherParts(ready: boolean): void {
  useEffect(() => (ready ? whenIdle(() => void loadAll()) : undefined), [ready]);
}

async function loadAll(): Promise<void> {
  const parts = [PALETTE, ...Object.values(VIEWS).map(({ part }) => part), PAIR, SHEET, CONVERTER];
  for (const part of parts) {
    try {
      await part.load();
    } catch {
      return; // whoever opens the view requests it again and reports the failure
    }
  }
}

/** The longest that loading is put off while the page is busy, ms. */
const PATIENCE_MS = 2_000;

function whenIdle(act: () => void): () => void {
  if (typeof requestIdleCallback === "undefined") {
    const timer = setTimeout(act, PATIENCE_MS);
    return () => clearTimeout(timer);
  }
  const idle = requestIdleCallback(act, { timeout: PATIENCE_MS });
  return () => cancelIdleCallback(idle);
}

/**
 * Loads the part of the view that the address names before anything else is known, so that part and page load together.
 */
export function useFirstPart(view: ViewId): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the view with which the tab opens
  useEffect(() => beginToLoad(view), []);
}
