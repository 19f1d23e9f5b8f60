/** The row that a link leads to: scrolled into view, in the middle of what is seen, with the focus on it. */

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ROW_INDEX_FROM } from "./table_keys";

/** `at`: the row's place among all; below 0: no row is marked. Once for each link: scrolling away stays possible. */
export function useMarkedRow(box: RefObject<HTMLElement | null>, at: number, row_px: number, mark: unknown): void {
  const shown = useRef<unknown>(undefined);
  useEffect(() => {
    const element = box.current;
    if (!element || at < 0 || shown.current === mark) return;
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
