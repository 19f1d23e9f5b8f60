/** Columns in which a trace has no value: a line below the table says so once, in place of a dash in every row. */

import { useMemo, useRef } from "preact/hooks";
import type { Column } from "./table";
import { orderOf } from "./table_order";

/** The columns; those that are empty for every row so far are left to the reader to add: none while it is sorted by. */
export function useEmptyAside<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  sort: string | undefined,
): readonly Column<Row>[] {
  const filled = useRef(new Set<string>()); // a filter that leaves only empty cells moves no column
  return useMemo(() => {
    for (const column of columns) if (isFilled(column, rows)) filled.current.add(column.id);
    const empty = ({ id, label }: Column<Row>) =>
      label !== "" && !filled.current.has(id) && sort?.replace("-", "") !== id;
    return rows.length === 0
      ? columns
      : columns.map((each) => (empty(each) ? { ...each, extra: true, empty: true } : each));
  }, [columns, rows, sort]);
}

function isFilled<Row>(column: Column<Row>, rows: readonly Row[]): boolean {
  const of = orderOf(column);
  return of === undefined || rows.some((row) => of(row) !== null);
}

interface NoValuesProps<Row> {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
}

export function NoValues<Row>({ columns, rows }: NoValuesProps<Row>) {
  const empty = columns.filter((column) => column.empty);
  if (empty.length === 0) return null;
  const reasons = new Set(
    empty.flatMap(({ missing }) => missing ?? []).map((why) => (typeof why === "string" ? why : why(rows[0]!))),
  );
  return (
    <p class="quiet small aside">
      No values for: {[`${empty.map(({ label }) => label).join(", ")}.`, ...reasons].join(" ")}
    </p>
  );
}
