import { useMemo, useState } from "preact/hooks";
import { type Cell, cellText, type TableData } from "./table_data";
import { type Column, Table } from "./table";

type Row = readonly [at: number, cells: readonly Cell[]];

/** The figures behind a picture, in its place. */
export function DataTable({ data }: { data: TableData }) {
  const [sort, setSort] = useState<string | undefined>();
  const rows = useMemo(() => data.rows.map((cells, at): Row => [at, cells]), [data]);
  const columns = data.columns.map(
    (column, at): Column<Row> => ({
      id: String(at),
      label: column.label,
      numeric: column.unit !== undefined && column.unit !== "text",
      cell: ([, cells]) => cellText(cells[at] ?? null, column),
      order: ([, cells]) => cells[at] ?? null,
      width: `${widthOf(
        column.label,
        rows.map(([, cells]) => cellText(cells[at] ?? null, column)),
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
      most={10}
    />
  );
}

/** Mean width of a character of small type, and the room for an arrow and the gap, px. */
const CHARACTER = 6.6;
const BESIDE = 22;

/** Rows that a column's width is measured by; longer cells further down are cut off. */
const MEASURED = 200;

function widthOf(label: string, cells: readonly string[]): number {
  const longest = cells.slice(0, MEASURED).reduce((most, cell) => Math.max(most, cell.length), label.length);
  return Math.min(320, Math.round(longest * CHARACTER) + BESIDE);
}
