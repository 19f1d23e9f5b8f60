/** A table as a picture: its menu saves the contents of its columns, its order and columns are kept in the address. */

import type { ComponentChildren } from "preact";
import type { SortKey } from "../address/keys";
import type { Unit } from "../api.gen";
import { type BarSegment, InlineBar } from "../charts/bars/split_bar";
import { tableData } from "../components/data_table";
import type { Figures, Totals } from "../components/figures";
import { Picture, type PictureProps } from "../components/picture";
import { Chevron } from "../components/popup";
import { type Column, type FileColumn, fileColumns, ROW_PX, Table, type TableProps } from "../components/table";
import { Sized } from "../dom/size";
import { columnHead, type Meanings } from "../meanings";
import { marking, sorting } from "./choices";
import type { Tab } from "./props";

interface TablePictureProps<Row>
  extends Pick<PictureProps, "title" | "sub" | "details" | "name" | "tools">,
    Omit<TableProps<Row>, "columns" | "sort" | "onSort" | "choice" | "marked"> {
  /** If a function, it receives the available width, px. */
  columns: readonly Column<Row>[] | ((width_px: number) => readonly Column<Row>[]);
  file?: readonly FileColumn<Row>[];
  /** The rows of a saved file, where they differ from the rows that are shown. */
  saved?(): readonly Row[];
  /** Where the address keeps order and columns, and the initial order; null: rows and columns are fixed. */
  order: SortKey | readonly [key: SortKey, first: string] | null;
  /** How a card names a row of this table. */
  mark?: readonly [table: string, name: (row: Row) => string];
  /** The number of rows to keep room for, where a filter leaves fewer. */
  room?: number;
  tab: Tab;
  above?: ComponentChildren;
  children?: ComponentChildren;
}

/** Wider than any screen, so that no column is left out. */
const ALL_PX = 10_000;

export function TablePicture<Row>(props: TablePictureProps<Row>) {
  const { columns, file = [], saved, order, mark, room, tab, above, children, ...framed } = props;
  const { title, sub, details, name, tools, ...table } = framed;
  const { rows, rowKey, branch, foot, maxRows = rows.length } = table;
  const [key, first] = typeof order === "string" || order === null ? ([order, undefined] as const) : order;
  const sorted = key === null ? {} : branch ? { choice: sorting(tab, key).choice } : sorting(tab, key, first);
  const drawn = (shown: readonly Column<Row>[]) => (
    <Table {...table} columns={shown} {...sorted} {...(mark && marking(tab.state, mark[0], rows, mark[1], rowKey))} />
  );
  const whole = () => (typeof columns === "function" ? columns(ALL_PX) : columns);
  const lines = Math.min(maxRows, Math.max(1, room ?? rows.length)) + (foot ? 2 : 1);
  return (
    <Picture
      {...{ title, sub, details, name, tools }}
      drawn={false}
      table={() => tableData([...fileColumns(whole()), ...file], saved?.() ?? rows)}
    >
      {above}
      {typeof columns === "function" ? (
        <Sized height={lines * ROW_PX}>{(width) => drawn(columns(width))}</Sized>
      ) : (
        drawn(columns)
      )}
      {children}
    </Picture>
  );
}

/** Creates columns of figures that the catalogue describes: it has their headers, meanings and units. */
export const figuresOf =
  <Row,>(meanings: Meanings) =>
  (
    id: string,
    metric: string,
    width_px: number,
    of: (row: Row) => number | null,
    how: Omit<Figures<Row>, "of" | "unit"> = {},
  ): Column<Row> => ({
    id,
    ...columnHead(meanings, metric),
    width: `${width_px}px`,
    figures: { of, unit: meanings.metric(metric).unit, ...how },
  });

/** A column of figures that no other table has, so that the catalogue does not describe it. */
export const figureColumn = <Row,>(
  id: string,
  label: string,
  width_px: number,
  unit: Unit,
  of: (row: Row) => number | null,
  how: Omit<Figures<Row>, "of" | "unit"> = {},
): Column<Row> => ({ id, label, width: `${width_px}px`, figures: { of, unit, ...how } });

/** How times relate to each other: columns of times share a unit, and are sums over all steps or those of one. */
export const timesOf = <Adds extends Totals>(adds: Adds) => ({ adds, siblings: "time" }) as const;

/** A column of names, which a narrow cell shows in full on hover. */
export const nameColumn = <Row,>(
  id: string,
  label: string,
  of: (row: Row) => string,
  how: Partial<Column<Row>> = {},
): Column<Row> => ({ id, label, order: of, hint: of, ...how });

interface BranchProps {
  /** From 0. */
  depth: number;
  /** Null: it contains nothing. */
  open: boolean | null;
  hint?: string;
  children: ComponentChildren;
}

/** A name in a tree of rows, behind the sign that tells whether its branch is open. */
export const Branch = ({ depth, open, hint, children }: BranchProps) => (
  <span class="range-name" style={{ paddingLeft: `${INDENT * depth}px` }} data-hint={hint}>
    <Chevron to={open === null ? null : open ? "down" : "right"} />
    {children}
  </span>
);

const INDENT = 14;

export const barColumn = <Row,>(segments: (row: Row) => readonly BarSegment[], width?: string): Column<Row> => ({
  id: "bar",
  label: "",
  ...(width !== undefined && { width }),
  cell: (row) => <InlineBar segments={segments(row)} />,
});

/** The length from which a name is split in two, and the length of the second part, which always shows. */
const LONG = 24;
const TAIL = 10;

/**
 * A name that loses its middle where there is no room for all of it: op names that begin alike differ at their ends.
 */
export function Middle({ name, hint = name, tail = TAIL }: { name: string; hint?: string; tail?: number }) {
  if (name.length < LONG)
    return (
      <span class="clip" data-hint={hint}>
        {name}
      </span>
    );
  return (
    <span class="middle" data-hint={hint}>
      <span class="clip">{name.slice(0, -tail)}</span>
      <span>{name.slice(-tail)}</span>
    </span>
  );
}
