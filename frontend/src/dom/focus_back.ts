import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

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
