/** Hooks that every room may use. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** The newest of a value that changes with each drawing, for effects and timers that outlive the drawing. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  useLayoutEffect(() => {
    latest.current = value;
  });
  return latest;
}

/** When what opened in the page closes with the focus in it, the focus returns to what had it before. */
export function useFocusBack(opened: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const before = document.activeElement;
    const root = opened.current;
    return () => {
      if (before instanceof HTMLElement && before.isConnected && root?.contains(document.activeElement)) before.focus();
    };
  }, [opened]);
}

/** The object of before where the new one has the same fields: what is made of it is then not made again. */
export function useSameFields<T extends object>(now: T): T {
  const before = useRef(now);
  const known = before.current;
  const names = Object.keys(now) as (keyof T)[];
  if (!names.every((name) => Object.is(now[name], known[name]))) before.current = now;
  return before.current;
}
