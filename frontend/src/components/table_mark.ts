/** The row that a link leads to: scrolled into view, in the middle of what is seen, with the focus on it. */

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ROW_INDEX_FROM } from "./table_keys";

/** `placeOf`: the row's place among all; below 0: there is none. Once for each link: scrolling away stays possible. */
export function useMarkedRow<Key>(
  box: RefObject<HTMLElement | null>,
  mark: Key | undefined,
  placeOf: (mark: Key) => number,
  row_px: number,
): void {
  const shown = useRef<Key | undefined>(undefined);
  useEffect(() => {
    const element = box.current;
    if (!element || mark === undefined || shown.current === mark) return;
    const at = placeOf(mark);
    if (at < 0) return;
    const row = element.querySelector<HTMLElement>(`tr[aria-rowindex="${at + ROW_INDEX_FROM}"]`);
    if (!row) {
      element.scrollTop = at * row_px; // drawn then, and shown by the next effect
      return;
    }
    shown.current = mark;
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
  });
}
