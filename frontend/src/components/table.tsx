/** A table of any length: headers that sort, a filter, and only the visible rows in the document. */

import type { ComponentChildren, RefObject } from "preact";
import { useCallback, useEffect, useMemo, useRef } from "preact/hooks";
import type { Unit } from "../api.gen";
import { type BarSegment, FigureBar } from "../charts/bars/split_bar";
import { hint } from "../dom/hint";
import { useRowWindow } from "../dom/rows";
import { count, DASH } from "../format";
import { bySize } from "../words";
import { ColumnsMenu, type TableChoice } from "./columns_menu";
import { type Figures, PLAIN, type Write, writersOf } from "./figures";
import { besideShared, type Prose, ProseCell, SharedTextLines, type SharedTexts, sharedTexts } from "./shared_texts";
import { ROW_INDEX_FROM, type TableKeys, useTableKeys } from "./table_keys";

export type Cell = number | string | null;

/** A column of a saved file. */
export interface FileColumn<Row> {
  label: string;
  /** The unit of the column's numbers; a column of names has none. */
  unit?: Unit;
  of(row: Row): Cell;
}

export interface Column<Row> {
  id: string;
  label: string;
  meaning?: string;
  numeric?: boolean;
  /** As for a CSS grid column; columns without a width share what is left. */
  width?: string;
  /** For a column without a width: how narrow it may get before the table scrolls sideways. */
  least?: string;
  /** The column's figure, if it shows one: then all its cells have one unit, and the column sorts by it. */
  figures?: Figures<Row>;
  /**
   * `written`: the figure in the column's unit; `write` formats its parts in the same way. Without `cell` the figure
   * alone is shown, or what the column sorts by.
   */
  cell?(row: Row, written: string, write: Write): ComponentChildren;
  /** A bar before what is shown, in shares of the column. */
  bar?(row: Row): readonly BarSegment[];
  /** What the hint of a cell says. */
  hint?(row: Row): string | null | undefined;
  /** A text such as a reason, shown in place of `cell`. What rows share stands once above them; null: no text. */
  prose?(row: Row): Prose | null;
  /** Why a cell shows a dash. */
  missing?: string | ((row: Row) => string);
  /** What the column sorts by; without it the header does not sort. Null is last in either direction. */
  order?(row: Row): number | string | null;
  /** Shown only where the reader chooses it. */
  extra?: boolean;
  /** What a saved file contains of the column, where that is not the one value that it shows or sorts by. */
  file?: readonly FileColumn<Row>[];
}

/** The columns of a table's saved file: the figure or name of each column, unrounded and in full. */
export function fileColumns<Row>(columns: readonly Column<Row>[]): FileColumn<Row>[] {
  return columns.flatMap(({ label, figures, order, file }) => {
    if (file || label === "") return file ?? [];
    if (figures) return [{ label, unit: figures.unit, of: figures.of }];
    return order ? [{ label, of: order }] : [];
  });
}

/** Turns fields of a row into columns of a saved file; `labels` gives their headers. */
export function fileFields<Row>(
  labels: { readonly [Field in keyof Row as Row[Field] extends Cell ? Field : never]?: string },
  unit?: Unit,
): FileColumn<Row>[] {
  return Object.entries<string>(labels as Record<string, string>).map(([field, label]) => ({
    label,
    ...(unit && { unit }),
    of: (row) => row[field as keyof Row] as Cell,
  }));
}

/** A column of a saved file with times. */
export const nsColumn = <Row,>(label: string, of: (row: Row) => number | null): FileColumn<Row> => ({
  ...{ label, unit: "ns", of },
});

export interface Foot {
  /** Spans the first columns, up to the first that has a figure here. */
  name: ComponentChildren;
  /** By column: a figure in the form of the column's own, or what to show. */
  cells: Readonly<Record<string, ComponentChildren>>;
}

export interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): string | number;
  /** "total" ascending, "-total" descending; undefined keeps the order of the rows. */
  sort?: string | undefined;
  /** Without it the rows have a fixed order. */
  onSort?: ((sort: string) => void) | undefined;
  /** The selected row, shown sunken. */
  chosen?: string | number | undefined;
  /** The row that a link led to, framed and scrolled into view. */
  marked?: string | number | undefined;
  onChoose?(row: Row): void;
  /** The row under the pointer or the focus; null when it left the table. */
  onHover?(row: Row | null): void;
  /** In a tree of rows: the depth of a row, from 1, and whether it is open; undefined where it contains nothing. */
  branch?(row: Row): { level: number; open: boolean | undefined };
  /** The number of rows from which the box scrolls. */
  maxRows?: number;
  /** Totals, below the rows. */
  foot?: Foot | false | null | undefined;
  /** The reader's choice of columns, units and totals. */
  choice?: TableChoice;
  empty?: ComponentChildren;
}

export const ROW_PX = 26;

const MENU_PX = 28;

export function Table<Row>(props: TableProps<Row>) {
  const { label, columns: allColumns, rows, sort, onSort, maxRows = 20, choice, foot } = props;
  const apart = useEmptyAside(allColumns, rows, sort);
  const texts = useMemo(() => sharedTexts(allColumns, rows), [allColumns, rows]);
  const all = useMemo(
    () => besideShared(choice ? apart : allColumns, rows, texts),
    [choice, apart, allColumns, rows, texts],
  );
  const box = useRef<HTMLDivElement>(null);
  const ordered = useMemo(() => sorted(rows, all, sort), [rows, all, sort]);
  const columns = useMemo(
    () => all.filter((column, at) => at === 0 || (choice?.wants(column.id) ?? !column.extra)),
    [all, choice],
  );
  const reading = choice?.reading ?? PLAIN;
  const writers = useMemo(() => writersOf(columns, rows, reading), [columns, rows, reading]);
  const view = useRowWindow(box, ordered.length, ROW_PX);
  const { chosen, rowKey } = props;
  const placeOf = useCallback((key: unknown) => ordered.findIndex((row) => rowKey(row) === key), [ordered, rowKey]);
  const start = useMemo(() => (chosen === undefined ? 0 : Math.max(0, placeOf(chosen))), [placeOf, chosen]);
  useMarkedRow(box, props.marked, placeOf, ROW_PX);
  const keys = useTableKeys(box, { ...view, count: ordered.length, start, row_px: ROW_PX });
  // Fewer rows take the height that they need, however many lines the header has: none is cut off, nothing scrolls.
  const style = rows.length > maxRows ? { maxHeight: `${(maxRows + (foot ? 2 : 1)) * ROW_PX + 1}px` } : {};
  return (
    <>
      <SharedTextLines columns={all} shown={new Set(columns.map(({ id }) => id))} rows={rows.length} texts={texts} />
      <div class={choice ? "table-box chooses" : "table-box"}>
        <div class={pinsNames(columns, sort) ? "rows pins" : "rows"} ref={box} style={style}>
          <table
            role={props.branch ? "treegrid" : "grid"}
            aria-label={label}
            aria-rowcount={ordered.length + 1}
            style={{ minWidth: leastWidth(columns, choice !== undefined) }}
          >
            <colgroup>
              {columns.map((column) => (
                <col key={column.id} style={widthOf(column.width, choice !== undefined && column === columns.at(-1))} />
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
                <Line
                  key={props.rowKey(row)}
                  {...props}
                  row={row}
                  at={view.first + at}
                  stop={keys.stop}
                  columns={columns}
                  writers={writers}
                  texts={texts}
                />
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
            {foot && (
              <tfoot>
                <FootLine foot={foot} columns={columns} sort={sort} writers={writers} />
              </tfoot>
            )}
          </table>
        </div>
        {choice && <ColumnsMenu table={label} columns={all} choice={choice} />}
        <Sorted columns={columns} sort={sort} />
      </div>
    </>
  );
}

/** Columns of names stay wide enough to distinguish them: in less space the table scrolls sideways. */
function leastWidth(columns: readonly Pick<Column<never>, "width" | "least">[], menu: boolean): string {
  const widths = columns.map(({ width, least }, at) => width ?? least ?? (at === 0 ? "96px" : "48px"));
  const button = menu && columns.at(-1)?.width !== undefined; // as in `widthOf`
  return `calc(${[...widths, ...(button ? [`${MENU_PX}px`] : [])].join(" + ")})`;
}

/** px: with more than this in sight, a phone has no room for a third column between names and sorted figures. */
const MOST_PINNED_PX = 220;

/** Whether a phone keeps the names in sight beside the sorted figures. */
function pinsNames(columns: readonly Pick<Column<never>, "id" | "width" | "least">[], sort: string | undefined) {
  const pinned = columns.filter(({ id }, at) => at === 0 || directionOf(sort, id));
  const widths = pinned.map(({ width, least }) => Number.parseInt(width ?? least ?? "96", 10));
  return widths.reduce((sum, px) => sum + px, 0) <= MOST_PINNED_PX;
}

/** The last column has the menu button at its end. */
const widthOf = (width: string | undefined, last: boolean) =>
  width ? { width: last ? `calc(${width} + ${MENU_PX}px)` : width } : {};

interface FootLineProps<Row> {
  foot: Foot;
  columns: readonly Column<Row>[];
  sort: string | undefined;
  writers: ReadonlyMap<string, Write>;
}

function FootLine<Row>({ foot, columns, sort, writers }: FootLineProps<Row>) {
  const filled = columns.findIndex(({ id }) => Object.hasOwn(foot.cells, id));
  const named = Math.max(1, filled < 0 ? columns.length : filled);
  return (
    <tr>
      <td colSpan={named}>{foot.name}</td>
      {columns.slice(named).map(({ id, numeric, figures }) => {
        const cell = foot.cells[id];
        const write = writers.get(id);
        const classes = [(numeric || figures) && "num", directionOf(sort, id) && "sorted"].filter(Boolean);
        return (
          <td key={id} class={classes.join(" ") || undefined}>
            {write && typeof cell === "number" ? write(cell) : cell}
          </td>
        );
      })}
    </tr>
  );
}

type HeadProps<Row> = Pick<TableProps<Row>, "sort" | "onSort"> & { column: Column<Row> };

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const className = column.numeric || column.figures ? "num" : "";
  if (column.label === "") return <td />; // above bars; an empty header would still be read out as one
  if (!onSort || !orderOf(column))
    return (
      <th class={className}>
        <span {...hint(column.meaning)}>{column.label}</span>
      </th>
    );
  const direction = directionOf(sort, column.id);
  const next =
    direction === "descending" || (direction === undefined && className === "") ? column.id : `-${column.id}`;
  return (
    <th class={className} aria-sort={direction}>
      <button data-hint={column.meaning} onClick={() => onSort(next)}>
        {direction ? <SortedLabel label={column.label} up={direction === "ascending"} /> : column.label}
      </button>
    </th>
  );
}

/** The sign of the order does not wrap without the last word. */
function SortedLabel({ label, up }: { label: string; up: boolean }) {
  const last = label.lastIndexOf(" ") + 1;
  return (
    <>
      {label.slice(0, last)}
      <span>
        {label.slice(last)}
        <svg viewBox="0 0 7 6" aria-hidden="true">
          <path d={up ? "M0 6h7L3.500 0z" : "M0 0h7L3.500 6z"} />
        </svg>
      </span>
    </>
  );
}

interface LineProps<Row> extends TableProps<Row> {
  row: Row;
  /** The row's index among all rows. */
  at: number;
  stop: TableKeys["stop"];
  writers: ReadonlyMap<string, Write>;
  texts: SharedTexts;
}

function Line<Row>(props: LineProps<Row>) {
  const { row, at, stop, columns, sort, writers, texts, rowKey, chosen, marked, branch, onChoose, onHover } = props;
  const key = rowKey(row);
  const { level, open } = branch?.(row) ?? {};
  return (
    <tr
      class={onChoose && "clickable"}
      aria-rowindex={at + ROW_INDEX_FROM}
      aria-level={level}
      aria-expanded={open}
      aria-selected={chosen === key ? true : undefined}
      aria-current={marked === key ? "true" : undefined}
      tabIndex={at === stop ? 0 : -1}
      onClick={onChoose && (() => onChoose(row))}
      onKeyDown={onChoose && ((event) => presses(event) && onChoose(row))}
      onPointerEnter={onHover && (() => onHover(row))}
      onFocusIn={onHover && (() => onHover(row))}
      onFocusOut={onHover && (() => onHover(null))}
    >
      {columns.map((column) => (
        <td
          key={column.id}
          class={(column.numeric || column.figures ? "num" : "clip") + (directionOf(sort, column.id) ? " sorted" : "")}
          tabIndex={-1}
        >
          {cellOf(column, row, writers, texts)}
        </td>
      ))}
    </tr>
  );
}

/** Enter and Space act as a click where the row or a cell has the focus, but not a button inside it. */
function presses(event: KeyboardEvent): boolean {
  if ((event.key !== "Enter" && event.key !== " ") || !(event.target as Element).matches("tr, td")) return false;
  event.preventDefault();
  return true;
}

function cellOf<Row>(column: Column<Row>, row: Row, writers: ReadonlyMap<string, Write>, texts: SharedTexts) {
  const { id, figures, cell, order, bar, hint: said, missing } = column;
  const prose = column.prose?.(row);
  if (prose) return <ProseCell prose={prose} texts={texts.get(id)} />;
  const write = writers.get(id) ?? String;
  const written = figures ? write(figures.of(row)) : (order?.(row) ?? DASH);
  const shown = cell ? cell(row, String(written), write) : written;
  const why = shown === DASH ? (typeof missing === "function" ? missing(row) : missing) : undefined;
  const told = said?.(row) ?? why;
  if (bar)
    return (
      <FigureBar segments={bar(row)} hint={told}>
        {shown}
      </FigureBar>
    );
  return told === undefined ? shown : <span data-hint={told}>{shown}</span>;
}

/** The fields of a column that sorting needs. */
interface Ordered<Row> {
  id: string;
  figures?: Figures<Row>;
  order?(row: Row): number | string | null;
}

function orderOf<Row>({ order, figures }: Ordered<Row>) {
  return order ?? figures?.of;
}

/** Sorts rows as `sort` says; equal rows keep their order, missing values come last. */
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
    a === null || b === null ? Number(a === null) - Number(b === null) : (down ? -1 : 1) * bySize(a, b),
  );
  return keyed.map(([, row]) => row);
}

/**
 * Leaves out columns that have been empty in every row so far, for the reader to add; the menu says why they are. A
 * column by which the table is sorted is kept.
 */
function useEmptyAside<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  sort: string | undefined,
): readonly Column<Row>[] {
  const filled = useRef(new Set<string>()); // a filter that leaves only empty cells removes no column
  return useMemo(() => {
    for (const column of columns) if (isFilled(column, rows)) filled.current.add(column.id);
    const empty = ({ id, label }: Column<Row>) =>
      label !== "" && !filled.current.has(id) && sort?.replace("-", "") !== id;
    return rows.length === 0
      ? columns
      : columns.map((each) => (empty(each) ? { ...each, extra: true, meaning: whyEmpty(each, rows[0]!) } : each));
  }, [columns, rows, sort]);
}

function isFilled<Row>(column: Column<Row>, rows: readonly Row[]): boolean {
  const of = orderOf(column);
  return of === undefined || rows.some((row) => of(row) !== null);
}

const whyEmpty = <Row,>({ meaning, missing }: Column<Row>, row: Row): string =>
  [meaning, typeof missing === "function" ? missing(row) : missing].filter(Boolean).join(" ");

const directionOf = (sort: string | undefined, id: string) =>
  sort === id ? "ascending" : sort === `-${id}` ? "descending" : undefined;

interface SortedProps {
  columns: readonly { id: string; label: string }[];
  sort: string | undefined;
}

/** Announces the new sort order when it changes. */
function Sorted({ columns, sort }: SortedProps) {
  const first = useRef(sort);
  const column = columns.find(({ id }) => directionOf(sort, id) !== undefined);
  const announcement =
    column && sort !== first.current ? `Sorted by ${column.label}, ${directionOf(sort, column.id)}.` : "";
  if (announcement !== "") first.current = undefined;
  return (
    <p class="visually-hidden" role="status">
      {announcement}
    </p>
  );
}

/**
 * Scrolls to the marked row, once for each link, so that the user can scroll away. `placeOf`: the row's index among
 * all; below 0: there is no such row.
 */
function useMarkedRow<Key>(
  box: RefObject<HTMLElement | null>,
  mark: Key | undefined,
  placeOf: (mark: Key) => number,
  row_px: number,
): void {
  const shown = useRef<Key | undefined>(undefined);
  useEffect(() => {
    const element = box.current;
    if (!element || mark === undefined || shown.current === mark) return;
    const at = placeOf(mark);
    if (at < 0) return;
    const row = element.querySelector<HTMLElement>(`tr[aria-rowindex="${at + ROW_INDEX_FROM}"]`);
    if (!row) {
      element.scrollTop = at * row_px; // this draws the row, and the next effect shows it
      return;
    }
    shown.current = mark;
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
  });
}
