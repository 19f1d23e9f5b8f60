/** Hooks for all folders. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Part } from "../lazy";

/** The latest value of something that changes with each render, for effects and timers that outlive the render. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  useLayoutEffect(() => {
    latest.current = value;
  });
  return latest;
}

/** A part of the tab while it is wanted; null until it is loaded. */
export function useLater<T>(part: Part<T>, wanted: boolean, failed: () => void): T | null {
  const [, arrived] = useState(false);
  const latest = useLatest(failed);
  useEffect(() => {
    if (!wanted || part.now()) return;
    part.load().then(
      () => arrived(true),
      () => latest.current(),
    );
  }, [part, wanted, latest]);
  return wanted ? part.now() : null;
}

/** When a popup closes while it has the focus, the focus returns to the element that had it before. */
export function useFocusBack(opened: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const before = document.activeElement;
    const root = opened.current;
    return () => {
      if (before instanceof HTMLElement && before.isConnected && root?.contains(document.activeElement)) before.focus();
    };
  }, [opened]);
}

/**
 * Returns the previous object where the new one has the same fields, so that nothing derived from it is computed again.
 */
export function useSameFields<T extends object>(now: T): T {
  const before = useRef(now);
  const last = before.current;
  const names = Object.keys(now) as (keyof T)[];
  if (!names.every((name) => Object.is(now[name], last[name]))) before.current = now;
  return before.current;
}
