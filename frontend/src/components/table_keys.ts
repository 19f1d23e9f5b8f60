/**
 * A table of any length is one stop of the Tab key: arrow keys go from row to row and from cell to cell.
 *
 *   row   Up, Down: the next; Home, End: the first, the last; Right: its first cell
 *   cell  Left, Right: the next (left of the first: the row); Home, End: the first, the last of the row
 */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface TableKeys {
  /** The row that the Tab key reaches. */
  stop: number;
  handlers: { onKeyDown(event: KeyboardEvent): void; onFocusIn(event: FocusEvent): void };
}

/** `first` and `end` delimit the drawn rows, of `count`; `start` is the row where the Tab key enters at first. */
export function useTableKeys(
  box: RefObject<HTMLElement | null>,
  { first, end, count, start, row_px }: { first: number; end: number; count: number; start: number; row_px: number },
): TableKeys {
  const [last, setLast] = useState<number | null>(null);
  const goal = useRef<number | null>(null);
  useLayoutEffect(() => {
    const row = goal.current === null ? null : rowAt(box.current, goal.current);
    if (!row) return;
    goal.current = null;
    row.focus();
  });
  const goTo = (at: number) => {
    const row = rowAt(box.current, at);
    if (row) return row.focus();
    goal.current = at; // focused once it is drawn
    box.current!.scrollTop = at * row_px;
  };
  const at = last ?? start;
  return {
    stop: at >= first && at < end ? at : first,
    handlers: {
      onFocusIn({ target }) {
        const row = (target as Element).closest("tr");
        if (row?.matches(ROW)) setLast(indexOf(row));
      },
      onKeyDown(event) {
        const target = event.target as HTMLElement;
        const row = target.closest("tr")!;
        if (!target.matches("tr, td") || !row.matches(ROW)) return;
        const next = target === row ? rowAfter(event.key, indexOf(row), count) : undefined;
        const cell = cellAfter(event.key, row, target);
        if (next !== undefined) goTo(next);
        else if (cell) cell.focus();
        else return;
        event.preventDefault();
      },
    },
  };
}

/** The header is row 1 of the table, the first data row is row 2. */
export const ROW_INDEX_FROM = 2;

const ROW = "[aria-rowindex]";

const indexOf = (row: Element): number => Number(row.getAttribute("aria-rowindex")) - ROW_INDEX_FROM;

const rowAt = (box: HTMLElement | null, at: number): HTMLElement | null =>
  box?.querySelector(`tr[aria-rowindex="${at + ROW_INDEX_FROM}"]`) ?? null;

function rowAfter(key: string, at: number, count: number): number | undefined {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: count - 1 }[key];
  return to === undefined ? undefined : Math.max(0, Math.min(count - 1, to));
}

/**
 * Moves from a row to its first cell; from a cell to a neighbour, to the same cell of a neighbouring row, or back to
 * the row.
 */
function cellAfter(key: string, row: HTMLTableRowElement, from: HTMLElement): HTMLElement | null | undefined {
  const cells = [...row.cells];
  const at = cells.indexOf(from as HTMLTableCellElement);
  if (at < 0) return key === "ArrowRight" ? cells[0] : undefined;
  const beside = (other: Element | null) =>
    other?.matches(ROW) ? (other as HTMLTableRowElement).cells[at] : undefined;
  switch (key) {
    case "ArrowRight":
      return cells[at + 1];
    case "ArrowLeft":
      return cells[at - 1] ?? row;
    case "Home":
      return cells[0];
    case "End":
      return cells.at(-1);
    case "ArrowDown":
      return beside(row.nextElementSibling);
    case "ArrowUp":
      return beside(row.previousElementSibling);
    default:
      return undefined;
  }
}
