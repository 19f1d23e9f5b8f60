/** The call paths of a span, which come from the trace: requested only when the picture scrolls into view. */

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FlamePage } from "../../../api.gen";
import type { ViewSource } from "../../../server/client";
import { type Requested, useRequested } from "../../../server/requested";

export type FlameAnswer = Requested<FlamePage>;

type Paths = Pick<FlamePage, "by" | "where">;

export function useFlamePage(events: ViewSource, span: string, { by, where }: Paths, enabled: boolean): FlameAnswer {
  const name = enabled ? [span, by, where].join() : null;
  return useRequested(events, name, async (signal) => {
    const answer = await events.flame(span, { by, where }, signal);
    await aTask(); // a large answer took long to read: it is processed after the reader's pending input
    return answer;
  });
}

/** Continues in a new task. */
export const aTask = (): Promise<void> => new Promise((done) => setTimeout(done));

/** True once the element has been near the window. */
export function useSeen(element: RefObject<HTMLElement | null>): boolean {
  const [isVisible, setSeen] = useState(typeof IntersectionObserver === "undefined");
  useEffect(() => {
    if (isVisible) return;
    const observer = new IntersectionObserver((found) => found.some((each) => each.isIntersecting) && setSeen(true), {
      rootMargin: "200px",
    });
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, [element, isVisible]);
  return isVisible;
}
