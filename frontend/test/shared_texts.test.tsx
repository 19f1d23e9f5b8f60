/** Texts that rows of a table share: once above the rows, with marks in their cells. */

import { render } from "preact-render-to-string";
import { expect, test } from "vitest";
import { csv, tableData } from "../src/components/data_table";
import { type Column, fileColumns, Table } from "../src/components/table";

interface Row {
  name: string;
  why: string | null;
}

const COLUMNS: readonly Column<Row>[] = [
  { id: "name", label: "Op", order: ({ name }) => name, cell: ({ name }) => name },
  {
    id: "why",
    label: "Why not",
    order: ({ why }) => why,
    prose: ({ why }) => (why === null ? null : { text: why, more: "Set it." }),
    cell: () => "-",
  },
];

const rowsOf = (...whys: (string | null)[]): Row[] => whys.map((why, at) => ({ name: `op${at}`, why }));

/** The lines above the table, its headers, and the cells of each row. */
function read(rows: readonly Row[]) {
  const html = render(<Table label="Ops" columns={COLUMNS} rows={rows} rowKey={({ name }) => name} />);
  const plain = (part: string) => part.replace(/<[^>]*>/g, "").replaceAll("\u00a0", "");
  const texts = (pattern: RegExp, within = html) => [...within.matchAll(pattern)].map(([, text]) => plain(text!));
  return {
    lines: texts(/<p class="shared-texts[^>]*>(.*?)<\/p>/gs),
    heads: texts(/<th[^>]*>(.*?)<\/th>/gs),
    rows: [...html.matchAll(/<tr[^>]*tabindex[^>]*>(.*?)<\/tr>/gs)].map(([, row]) =>
      texts(/<td[^>]*>(.*?)<\/td>/gs, row),
    ),
    html,
  };
}

const OFF = "Inputs are FP32, and TF32 is off.";
const SIZE = "A size of 10 is not a multiple of 8.";

test("what all rows say is said once, in place of its column; a saved file keeps it", () => {
  const rows = rowsOf(OFF, OFF);
  const { lines, heads, rows: cells, html } = read(rows);
  expect([lines, heads, cells]).toEqual([[`Why not: ${OFF}`], ["Op"], [["op0"], ["op1"]]]);
  expect(html).toContain('data-hint="Set it."');
  expect(csv(tableData(fileColumns(COLUMNS), rows))).toBe(`Op,Why not\r\nop0,"${OFF}"\r\nop1,"${OFF}"\r\n`);
});

test("a single row keeps its text", () => {
  expect(read(rowsOf(OFF))).toMatchObject({ lines: [], heads: ["Op", "Why not"], rows: [["op0", OFF]] });
});

test("texts of several rows are said once each, with a mark in their cells; others stay in theirs", () => {
  const { lines, rows, html } = read(rowsOf(OFF, SIZE, OFF, null, SIZE, OFF, "It is the only one of its kind."));
  expect(lines).toEqual([`A, 3 of 7 rows: ${OFF}`, `B, 2 of 7 rows: ${SIZE}`]);
  expect(rows.map(([, cell]) => cell)).toEqual(["A", "B", "A", "-", "B", "A", "It is the only one of its kind."]);
  expect(html).toContain(`data-hint="${OFF}\nSet it."`);
});

test("texts stay in their rows where they are short, differ in most rows, or are many", () => {
  const differ = rowsOf(OFF, OFF, ...Array.from({ length: 3 }, (_, at) => `The reason of row ${at} is its own.`));
  const many = rowsOf(...[0, 1, 2, 3, 0, 1, 2, 3].map((at) => `The reason of group ${at} is its own.`));
  for (const rows of [rowsOf("name", "name", "op"), differ, many])
    expect(read(rows)).toMatchObject({ lines: [], rows: rows.map(({ name, why }) => [name, why]) });
});
