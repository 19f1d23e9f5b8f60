/**
 * Which rows of a long list are visible. All rows have the same height, so this is arithmetic and the list may be of
 * any length.
 */

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Extra rows drawn beyond the edges, so that a fast scroll shows no gap. */
const BEYOND = 8;

interface RowWindow {
  first: number;
  /** One past the last row. */
  end: number;
  /** Space above and below that replaces the rows that are not drawn. */
  above_px: number;
  below_px: number;
}

export function rowWindow(count: number, row_px: number, top_px: number, height_px: number): RowWindow {
  const first = Math.min(Math.max(0, Math.floor(top_px / row_px) - BEYOND), Math.max(0, count - 1));
  const end = Math.min(count, Math.ceil((top_px + height_px) / row_px) + BEYOND);
  return { first, end, above_px: first * row_px, below_px: (count - end) * row_px };
}

/** Scrolls a box just as far as the whole row is visible. */
export function scrollToRow(box: HTMLElement | null, row: number, row_px: number): void {
  if (!box) return;
  const top = row * row_px;
  if (top < box.scrollTop) box.scrollTop = top;
  if (top + row_px > box.scrollTop + box.clientHeight) box.scrollTop = top + row_px - box.clientHeight;
}

export function useRowWindow(box: RefObject<HTMLElement | null>, count: number, row_px: number): RowWindow {
  const [view, setView] = useState({ top: 0, height: 400 });
  const empty = count === 0;
  useEffect(() => {
    const element = box.current;
    if (!element || empty) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    measure();
    element.addEventListener("scroll", measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", measure);
      observer.disconnect();
    };
  }, [box, empty]);
  return rowWindow(count, row_px, view.top, view.height);
}
