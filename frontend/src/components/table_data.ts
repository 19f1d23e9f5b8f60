/** What a picture shows, as a table: behind its menu, in its CSV, and for those who cannot see it. */

import type { Unit } from "../api.gen";
import { text } from "../format";

export interface DataColumn {
  label: string;
  /** Of the column's numbers; a column of names has none. */
  unit?: Unit;
}

export type Cell = number | string | null;

export interface TableData {
  columns: readonly DataColumn[];
  rows: readonly (readonly Cell[])[];
}

export function cellText(cell: Cell, { unit }: DataColumn): string {
  return typeof cell === "string" ? cell : text(cell, unit ?? "number");
}

/** Comma-separated values with whole figures, the unit in the head; missing figures are empty. */
export function csv({ columns, rows }: TableData): string {
  const head = columns.map(({ label, unit }) => (unit === undefined || unit === "text" ? label : `${label} (${unit})`));
  return [head, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
}

/** Names come from traces. A spreadsheet runs what starts like a formula, so such names get an apostrophe before them. */
function csvCell(cell: Cell): string {
  if (cell === null) return "";
  const written = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(written) ? `"${written.replaceAll('"', '""')}"` : written;
}
