/** Texts that rows of a table share, such as a reason: each stands once above the rows, with the number of its rows. */

import { sum } from "d3-array";
import type { Phrase } from "../api.gen";
import { count } from "../format";
import { grouped } from "../lists";
import { sentence } from "../phrase";
import { Details, Sentence } from "./sentence";

/** A text of a row. */
export interface Prose {
  text: Phrase | string;
  /** What the hint says after the text. */
  more?: string | null;
}

/** The fields of a column that this needs. */
interface ProseColumn<Row> {
  id: string;
  label: string;
  extra?: boolean;
  width?: string;
  prose?(row: Row): Prose | null;
}

interface Shared extends Prose {
  rows: number;
  /** What stands in its cells instead; empty: all rows share the text, and its column is not shown. */
  mark: string;
}

/** By column and whole text. */
export type SharedTexts = ReadonlyMap<string, ReadonlyMap<string, Shared>>;

/** More texts than this are easier to read in their rows. */
const MOST = 3;

/** The code of the first mark. */
const A = "A".charCodeAt(0);

/** A text of fewer characters is as easy to read as a mark. */
const SHORT = 24;

const wholeOf = (prose: Prose): string => [sentence(prose.text), prose.more].filter(Boolean).join("\n");

/** The texts that all rows share, or that at most three groups of rows share which are half of the rows or more. */
export function sharedTexts<Row>(columns: readonly ProseColumn<Row>[], rows: readonly Row[]): SharedTexts {
  return new Map(columns.flatMap(({ id, prose }) => (prose ? [[id, shared(rows.map((row) => prose(row)))]] : [])));
}

function shared(texts: readonly (Prose | null)[]): ReadonlyMap<string, Shared> {
  const groups = grouped(
    texts.filter((prose) => prose !== null),
    wholeOf,
  );
  const repeated = [...groups].filter(([, group]) => group.length > 1).sort(([, a], [, b]) => b.length - a.length);
  const found = repeated.map(([whole, group], at): [string, Shared] => [
    whole,
    { ...group[0]!, rows: group.length, mark: group.length === texts.length ? "" : String.fromCharCode(A + at) },
  ]);
  const rows = sum(found, ([, each]) => each.rows);
  const worth = found.length <= MOST && 2 * rows >= texts.length;
  return new Map(found.filter(([, each]) => each.mark === "" || (worth && sentence(each.text).length >= SHORT)));
}

/** A column of marks is narrow, and one whose text holds for all rows is only shown where the reader chooses it. */
export function besideShared<Row, Column extends ProseColumn<Row>>(
  columns: readonly Column[],
  rows: readonly Row[],
  texts: SharedTexts,
): readonly Column[] {
  return columns.map((column) => {
    const own = texts.get(column.id);
    if (!own?.size) return column;
    if ([...own.values()].some(({ mark }) => mark === "")) return { ...column, extra: true };
    const marked = rows.every((row) => {
      const prose = column.prose!(row);
      return prose === null || own.has(wholeOf(prose));
    });
    return marked ? { ...column, width: "72px" } : column;
  });
}

/** A text in its cell, or the mark of the line above that says it. */
export function ProseCell({ prose, texts }: { prose: Prose; texts: ReadonlyMap<string, Shared> | undefined }) {
  const whole = wholeOf(prose);
  return <span data-hint={whole}>{texts?.get(whole)?.mark || <Sentence phrase={prose.text} />}</span>;
}

interface SharedTextLinesProps {
  columns: readonly Pick<ProseColumn<never>, "id" | "label">[];
  /** Ids of the columns that the table shows. */
  shown: ReadonlySet<string>;
  rows: number;
  texts: SharedTexts;
}

export function SharedTextLines({ columns, shown, rows, texts }: SharedTextLinesProps) {
  return columns.map(({ id, label }) =>
    [...(texts.get(id) ?? [])]
      .filter(([, { mark }]) => (mark === "") !== shown.has(id))
      .map(([whole, { text, more, rows: number, mark }]) => (
        <p key={whole} class="shared-texts quiet small">
          <b>{mark || label}</b>
          {mark === "" ? ": " : `, ${count(number)} of ${count(rows)} rows: `}
          <Sentence phrase={text} />
          <Details text={more} />
        </p>
      )),
  );
}
