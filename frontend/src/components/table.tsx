/** A table of any length: heads that sort, a filter, only the rows visible are drawn. */

import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { hint } from "../dom/hint";
import { useRowWindow } from "../dom/rows";
import { count } from "../format";
import { ROW_INDEX_FROM, type TableKeys, useTableKeys } from "./table_keys";

export interface Column<Row> {
  id: string;
  label: string;
  /** What the figure means. */
  meaning?: string;
  numeric?: boolean;
  /** As for a CSS grid column; columns without one share what is left. */
  width?: string;
  cell(row: Row): ComponentChildren;
  /** What the column sorts by; without it the head does not sort. Null sorts last either way. */
  order?(row: Row): number | string | null;
}

interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): string | number;
  /** "total" up, "-total" down; undefined keeps the order of the rows. */
  sort: string | undefined;
  onSort(sort: string): void;
  /** StepSelection row, shown sunken. */
  chosen?: string | number | undefined;
  onChoose?(row: Row): void;
  /** The row under the pointer or the focus; null when it left the table. */
  onHover?(row: Row | null): void;
  /** Where rows fold: how deep one lies, from 1, and whether it is open; undefined where nothing is in it. */
  branch?(row: Row): { level: number; open: boolean | undefined };
  /** Rows before the box scrolls. */
  maxRows?: number;
  /** Totals, under the rows. */
  foot?: ComponentChildren;
  /** In place of rows where there are none. */
  empty?: ComponentChildren;
}

export const ROW_PX = 26;

export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, sort, onSort, maxRows = 20 } = props;
  const box = useRef<HTMLDivElement>(null);
  const ordered = useMemo(() => sorted(rows, columns, sort), [rows, columns, sort]);
  const view = useRowWindow(box, ordered.length, ROW_PX);
  const start = Math.max(
    0,
    ordered.findIndex((row) => props.rowKey(row) === props.chosen),
  );
  const keys = useTableKeys(box, { ...view, count: ordered.length, start, row_px: ROW_PX });
  const height = (Math.min(maxRows, Math.max(1, rows.length)) + (props.foot ? 2 : 1)) * ROW_PX + 1;
  return (
    <div class="rows" ref={box} style={{ maxHeight: `${height}px` }}>
      <table role={props.branch ? "treegrid" : "grid"} aria-label={label} aria-rowcount={ordered.length + 1}>
        <colgroup>
          {columns.map((column) => (
            <col key={column.id} style={column.width ? { width: column.width } : {}} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody {...keys.handlers} onPointerLeave={props.onHover && (() => props.onHover!(null))}>
          {view.above_px > 0 && <tr class="space" aria-hidden="true" style={{ height: `${view.above_px}px` }} />}
          {ordered.slice(view.first, view.end).map((row, at) => (
            <Line key={props.rowKey(row)} row={row} at={view.first + at} stop={keys.stop} {...props} />
          ))}
          {view.below_px > 0 && <tr class="space" aria-hidden="true" style={{ height: `${view.below_px}px` }} />}
          {ordered.length === 0 && (
            <tr>
              <td colSpan={columns.length} class="quiet">
                {props.empty ?? `${count(0)} rows`}
              </td>
            </tr>
          )}
        </tbody>
        {props.foot && <tfoot>{props.foot}</tfoot>}
      </table>
    </div>
  );
}

function Head<Row>({
  column,
  sort,
  onSort,
}: {
  column: Column<Row>;
  sort: string | undefined;
  onSort(sort: string): void;
}) {
  const className = column.numeric ? "num" : "";
  if (!column.order)
    return (
      <th class={className}>
        <span {...hint(column.meaning)}>{column.label}</span>
      </th>
    );
  const direction = sort === column.id ? "ascending" : sort === `-${column.id}` ? "descending" : undefined;
  const next = direction === "descending" || (direction === undefined && !column.numeric) ? column.id : `-${column.id}`;
  return (
    <th class={className} aria-sort={direction}>
      <button data-hint={column.meaning} onClick={() => onSort(next)}>
        {column.label}
        {direction && (
          <svg viewBox="0 0 7 6" aria-hidden="true">
            <path d={direction === "ascending" ? "M0 6h7L3.500 0z" : "M0 0h7L3.500 6z"} />
          </svg>
        )}
      </button>
    </th>
  );
}

interface LineProps<Row> extends TableProps<Row> {
  row: Row;
  /** Its place among all rows. */
  at: number;
  stop: TableKeys["stop"];
}

function Line<Row>({ row, at, stop, columns, rowKey, chosen, branch, onChoose, onHover }: LineProps<Row>) {
  const key = rowKey(row);
  const { level, open } = branch?.(row) ?? {};
  return (
    <tr
      aria-rowindex={at + ROW_INDEX_FROM}
      aria-level={level}
      aria-expanded={open}
      aria-selected={chosen === key ? true : undefined}
      tabIndex={at === stop ? 0 : -1}
      onClick={onChoose && (() => onChoose(row))}
      onKeyDown={onChoose && ((event) => presses(event) && onChoose(row))}
      onPointerEnter={onHover && (() => onHover(row))}
      onFocusIn={onHover && (() => onHover(row))}
      onFocusOut={onHover && (() => onHover(null))}
    >
      {columns.map((column) => (
        <td key={column.id} class={column.numeric ? "num" : "clip"} tabIndex={-1}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

/** Enter and Space act as a click where the row or a cell has the focus, not a button within. */
function presses(event: KeyboardEvent): boolean {
  if ((event.key !== "Enter" && event.key !== " ") || !(event.target as Element).matches("tr, td")) return false;
  event.preventDefault();
  return true;
}

/** Rows in the order that `sort` names; equal rows keep theirs, missing values come last. */
export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: string | undefined,
): readonly Row[] {
  const down = sort?.startsWith("-") ?? false;
  const order = columns.find((column) => column.id === sort?.replace(/^-/, ""))?.order;
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
