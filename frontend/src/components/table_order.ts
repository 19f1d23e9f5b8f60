/** The rows of a table in the order that its heads ask for. */

import type { Figures } from "./figures";

/** What of a column its order needs. */
export interface Ordered<Row> {
  id: string;
  figures?: Figures<Row>;
  order?(row: Row): number | string | null;
}

export const orderOf = <Row>({ order, figures }: Ordered<Row>) => order ?? figures?.of;

/** Rows in the order that `sort` names; equal rows keep theirs, missing values come last. */
export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Ordered<Row>[],
  sort: string | undefined,
): readonly Row[] {
  const down = sort?.startsWith("-") ?? false;
  const column = columns.find(({ id }) => id === sort?.replace(/^-/, ""));
  const order = column && orderOf(column);
  if (!order) return rows;
  const keyed = rows.map((row) => [order(row), row] as const);
  keyed.sort(([a], [b]) =>
    a === null || b === null ? Number(a === null) - Number(b === null) : (down ? -1 : 1) * compare(a, b),
  );
  return keyed.map(([, row]) => row);
}

const NAMES = new Intl.Collator("en", { numeric: true });

function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number" ? a - b : NAMES.compare(String(a), String(b));
}
