/** The contents of a picture as a table: behind its menu, in its CSV, and for those who cannot see it. */

import { useMemo, useState } from "preact/hooks";
import type { Unit } from "../api.gen";
import { widestOf } from "../dom/text_width";
import { text } from "../format";
import { type Cell, type Column, type FileColumn, Table } from "./table";

interface DataColumn {
  label: string;
  /** The unit of the column's numbers; a column of names has none. */
  unit?: Unit;
}

export interface TableData {
  columns: readonly DataColumn[];
  rows: readonly (readonly Cell[])[];
}

export const tableData = <Row,>(columns: readonly FileColumn<Row>[], rows: readonly Row[]): TableData => ({
  columns: columns.map(({ label, unit }) => (unit === undefined ? { label } : { label, unit })),
  rows: rows.map((row) => columns.map(({ of }) => of(row))),
});

function cellText(cell: Cell, { unit }: DataColumn): string {
  return typeof cell === "string" ? cell : text(cell, unit ?? "number");
}

/** Comma-separated values with unrounded figures and the unit in the header; missing figures are empty. */
export function csv(data: TableData): string {
  return [headOf(data), ...data.rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
}

/** The format that a spreadsheet takes from the clipboard: tabs between cells, one line per row. */
export const tsv = (data: TableData): string =>
  [headOf(data), ...data.rows].map((row) => row.map(tsvCell).join("\t")).join("\n");

const tsvCell = (cell: Cell): string => (cell === null ? "" : harmless(cell).replace(/[\t\r\n]+/g, " "));

/** The column headers, with the unit of a column's figures. */
const headOf = ({ columns }: TableData): string[] =>
  columns.map((column) => (isFigure(column) ? `${column.label} (${column.unit})` : column.label));

/**
 * Names come from traces. A spreadsheet runs text that starts like a formula, so such names get an apostrophe in front.
 */
function harmless(cell: number | string): string {
  return typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);
}

function csvCell(cell: Cell): string {
  if (cell === null) return "";
  const written = harmless(cell);
  return /[",\r\n]/.test(written) ? `"${written.replaceAll('"', '""')}"` : written;
}

const isFigure = (column: DataColumn): column is Required<DataColumn> =>
  column.unit !== undefined && column.unit !== "text" && column.unit !== "code";

const numberOf = (cell: Cell | undefined): number | null => (typeof cell === "number" ? cell : null);

type Row = readonly [at: number, cells: readonly Cell[]];

export function DataTable({ data }: { data: TableData }) {
  const [sort, setSort] = useState<string | undefined>();
  const rows = useMemo(() => data.rows.map((cells, at): Row => [at, cells]), [data]);
  const columns = data.columns.map(
    (column, at): Column<Row> => ({
      id: String(at),
      label: column.label,
      ...(isFigure(column)
        ? { figures: { of: ([, cells]) => numberOf(cells[at]), unit: column.unit } }
        : { cell: ([, cells]) => cellText(cells[at] ?? null, column), order: ([, cells]) => cells[at] ?? null }),
      width: `${widthOf(
        column.label,
        rows.slice(0, MEASURED).map(([, cells]) => cellText(cells[at] ?? null, column)),
      )}px`,
    }),
  );
  return (
    <Table
      label="Figures of this picture"
      columns={columns}
      rows={rows}
      rowKey={([at]) => at}
      sort={sort}
      onSort={setSort}
      maxRows={10}
    />
  );
}

/** Room for the sort arrow and the gap, px. */
const BESIDE = 22;

/** The number of rows from which a column's width is measured; longer cells further down are cut off. */
const MEASURED = 200;

function widthOf(label: string, cells: readonly string[]): number {
  return Math.min(320, Math.round(widestOf([label, ...cells])) + BESIDE);
}
