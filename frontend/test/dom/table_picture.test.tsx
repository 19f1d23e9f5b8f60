/** A table as a picture: the menu gets the content from the table's columns, and the address from the page. */

import { act, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, expect, test, vi } from "vitest";
import { AboutContext, aboutRuns } from "../../src/components/about";
import { type Column, fileColumns, fileFields } from "../../src/components/table";
import { barColumn, figuresOf, TablePicture } from "../../src/views/table_picture";
import { MEANINGS } from "../fixtures/meanings";
import { TAB } from "../fixtures/pages";

interface Kernel {
  name: string;
  op: string | null;
  count: number;
  total: number;
}

const ROWS: readonly Kernel[] = [
  { name: "gemm", op: "mm", count: 12, total: 36e6 },
  { name: "softmax", op: null, count: 3, total: 90e3 },
];

const figure = figuresOf<Kernel>(MEANINGS);
const COLUMNS: readonly Column<Kernel>[] = [
  { id: "name", label: "Kernel", order: (row) => row.name, cell: (row) => row.name.toUpperCase() },
  { id: "where", label: "Where", cell: () => "here", file: fileFields<Kernel>({ op: "Op", name: "Name" }) },
  barColumn((row) => [{ share: row.total / 36e6, colour: "kernel" }]),
  { ...figure("count", "count", 60, (row) => row.count, { adds: "recording" }), extra: true },
  figure("total", "total_ns", 60, (row) => row.total),
  { id: "quiet", label: "Quiet", cell: () => "said, not saved" },
];

afterEach(() => vi.unstubAllGlobals());

function drawn(): string[] {
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => void copied.push(text) } });
  render(
    <AboutContext.Provider value={aboutRuns("gpu", ["a"], { meanings: MEANINGS, address: () => "#here" })}>
      <TablePicture
        title="Which kernels?"
        name="kernels"
        label="Kernels"
        columns={(width) => COLUMNS.slice(0, width > 5_000 ? 6 : 5)}
        file={[{ label: "Twice", unit: "count", of: (row) => 2 * row.count }]}
        rows={ROWS.slice(0, 1)}
        saved={() => ROWS}
        rowKey={(row) => row.name}
        order={["sort", "-total"]}
        tab={TAB}
      />
    </AboutContext.Provider>,
  );
  return copied;
}

async function choose(entry: string) {
  fireEvent.click(screen.getByRole("button", { name: /^Show as table, save or link/ }));
  await act(async () => void fireEvent.click(screen.getByRole("menuitem", { name: entry })));
}

test("what is copied has every column's value, the hidden ones too, and all rows", async () => {
  const copied = drawn();
  await choose("Copy table");
  expect(copied[0]!.split("\n").map((line) => line.split("\t"))).toEqual([
    ["Kernel", "Op", "Name", "Launches (count)", "Total (ns)", "Twice (count)"],
    ["gemm", "mm", "gemm", "12", "36000000", "24"],
    ["softmax", "", "softmax", "3", "90000", "6"],
  ]);
});

test("its link is the page's address", async () => {
  const copied = drawn();
  await choose("Copy link");
  expect(copied).toEqual(["#here"]);
});

test("heads sort but those of bars and of what has no order, and hidden columns are not shown", () => {
  drawn();
  const heads = screen.getAllByRole("columnheader").map(({ textContent }) => textContent);
  expect(heads).toEqual(["Kernel", "Where", "Total"]);
  expect(screen.getAllByRole("columnheader").map((head) => head.getAttribute("aria-sort"))).toEqual([
    null,
    null,
    "descending",
  ]);
  expect(fileColumns(COLUMNS).map(({ label }) => label)).toEqual(["Kernel", "Op", "Name", "Launches", "Total"]);
});
