/** The row of a view's table that a card leads to: how the address names it, and how its table finds it. */

import type { Address, Changes } from "../address/keys";
import type { EvidenceRow, Insight } from "../api.gen";

export const markOf = (row: EvidenceRow | null): string | null => row && `${row.table}:${row.key}`;

/** The view with a card's evidence: its step is chosen, its row marked, and no filter hides it. */
export const evidenceKeys = ({ view, steps, row }: Insight, { step }: Address): Changes => ({
  view,
  step: steps[0] ?? step ?? null,
  mark: markOf(row),
  ...(row && { by: null, kernel: null, could: null, calls: null, device: null }),
});

/** What makes a table mark that row: `named` says what the card calls a row, `rowKey` what the table does. */
export function marking<Row>(
  { mark }: Address,
  table: string,
  rows: readonly Row[],
  named: (row: Row) => string,
  rowKey: (row: Row) => string | number,
): { marked?: string | number } {
  const row = mark?.startsWith(`${table}:`) && rows.find((each) => `${table}:${named(each)}` === mark);
  return row ? { marked: rowKey(row) } : {};
}

/** What a card calls a row of a table of ops by their inputs. */
export const namedByOp = (op: string | null, shapes: string | null): string =>
  [op, shapes].filter((each) => each).join(" ");
