import { cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { useState } from "preact/hooks";
import { expect, test, vi } from "vitest";
import type { Address, Changes } from "../../src/address/keys";
import { DataTable } from "../../src/components/data_table";
import { Filter } from "../../src/components/filter";
import { type Column, Table } from "../../src/components/table";
import { sorting } from "../../src/views/choices";
import { TAB } from "../fixtures/pages";

interface Kernel {
  name: string;
  count: number;
  total: number;
}

const ROWS: readonly Kernel[] = [
  { name: "gemm", count: 12, total: 36e6 },
  { name: "softmax", count: 3, total: 90e3 },
];

const columns = (cell?: (row: Kernel) => string): Column<Kernel>[] => [
  { id: "name", label: "Kernel", cell: cell ?? ((row) => row.name), order: (row) => row.name },
  { id: "count", label: "Launches", figures: { of: (row) => row.count, unit: "count", adds: "recording" } },
  { id: "total", label: "Total", figures: { of: (row) => row.total, unit: "ns", adds: "recording" } },
  { id: "waves", label: "Waves", numeric: true, extra: true, cell: () => "1.0" },
];

/** A table that keeps its choices in an address, as in the tab. */
function Chosen({ rows = ROWS, cell }: { rows?: readonly Kernel[]; cell?: (row: Kernel) => string }) {
  const [state, setState] = useState<Address>({});
  const update = (changes: Changes) =>
    setState((before) => {
      const after = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null);
      return Object.fromEntries(after) as Address;
    });
  const foot = { name: "All", cells: { count: 15, total: 36.09e6 } };
  const tab = { ...TAB, state, steps: 3, update };
  return (
    <Table
      label="Kernels"
      columns={columns(cell)}
      rows={rows}
      rowKey={(row) => row.name}
      foot={foot}
      {...sorting(tab, "sort")}
    />
  );
}

const heads = () => [...document.querySelectorAll("th")].map((head) => head.textContent);
const lines = () =>
  [...document.querySelectorAll("tbody tr:not(.space), tfoot tr")].map((line) =>
    [...line.children].map((cell) => cell.textContent!.replaceAll(/\s/g, " ")).join("|"),
  );
const openMenu = () => fireEvent.click(screen.getByRole("button", { name: "Columns and units of Kernels" }));

test("columns are taken away and added, and the line of totals follows", () => {
  render(<Chosen />);
  expect(heads()).toEqual(["Kernel", "Launches", "Total"]);
  openMenu();
  fireEvent.click(screen.getByLabelText("Waves"));
  fireEvent.click(screen.getByLabelText("Launches"));
  expect(heads()).toEqual(["Kernel", "Total", "Waves"]);
  expect(lines()).toEqual(["gemm|12.00 ms|1.0", "softmax|0.03 ms|1.0", "All|12.03 ms|"]);
  fireEvent.click(screen.getByText("Reset columns"));
  expect(heads()).toEqual(["Kernel", "Launches", "Total"]);
});

test("the unit of times and what totals are of are chosen where the figures stand", () => {
  render(<Chosen />);
  expect(lines()).toEqual(["gemm|4|12.00 ms", "softmax|1|0.03 ms", "All|5|12.03 ms"]);
  openMenu();
  fireEvent.click(screen.getByText(/all 3 steps/));
  expect(lines()).toEqual(["gemm|12|36.00 ms", "softmax|3|0.09 ms", "All|15|36.09 ms"]);
  fireEvent.click(screen.getByText("µs"));
  expect(lines()).toEqual(["gemm|12|36 000 µs", "softmax|3|90 µs", "All|15|36 090 µs"]);
});

interface Filled {
  name: string;
  waves: number | null;
}

/** A table with two columns, the second of which may lack values. */
function Waves({ rows, width }: { rows: readonly Filled[]; width?: string }) {
  const [state, setState] = useState<Address>({});
  const tab = { ...TAB, state, update: (changes: Changes) => setState({ ...state, ...changes } as Address) };
  const columns: Column<Filled>[] = [
    { id: "name", label: "Kernel", cell: (row) => row.name },
    {
      id: "waves",
      label: "Waves",
      figures: { of: (row) => row.waves, unit: "number" },
      missing: "No grid.",
      ...(width && { width }),
    },
  ];
  return <Table label="Kernels" columns={columns} rows={rows} rowKey={(row) => row.name} {...sorting(tab, "sort")} />;
}

test("names keep room beside columns of a fixed width: a table that lacks it scrolls sideways", () => {
  const wide: Column<Kernel>[] = [...columns().slice(0, 2), { id: "own", label: "Own", width: "76px", cell: () => "" }];
  render(<Table label="Kernels" columns={wide} rows={ROWS} rowKey={(row) => row.name} />);
  expect(screen.getByRole("grid").style.minWidth).toBe("calc(96px + 48px + 76px)");
  cleanup();
  render(<Waves rows={[{ name: "gemm", waves: 1 }]} width="60px" />);
  expect(screen.getByRole("grid").style.minWidth).toBe("calc(96px + 60px + 28px)"); // including the button of the menu
});

test("a column without any value makes room; the menu says why, and brings it back", () => {
  render(<Waves rows={[{ name: "gemm", waves: null }]} />);
  expect(heads()).toEqual(["Kernel"]);
  openMenu();
  expect(screen.getByText("Waves").dataset.hint).toMatch(/No grid\.$/);
  expect((screen.getByLabelText("Waves") as HTMLInputElement).checked).toBe(false);
  fireEvent.click(screen.getByLabelText("Waves"));
  expect(heads()).toEqual(["Kernel", "Waves"]);
});

test("a filter that leaves rows without a value takes no column away", () => {
  const gemm = { name: "gemm", waves: 2 };
  const copy = { name: "copy", waves: null };
  const { rerender } = render(<Waves rows={[gemm, copy]} />);
  rerender(<Waves rows={[copy]} />);
  expect(heads()).toEqual(["Kernel", "Waves"]);
});

test("Escape closes the menu and gives the focus back", () => {
  render(<Chosen />);
  openMenu();
  expect(screen.getByRole("dialog")).toBeTruthy();
  fireEvent.keyDown(document, { key: "Escape" });
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(document.activeElement).toBe(screen.getByRole("button", { name: "Columns and units of Kernels" }));
});

test("a change of the order is said, with column and direction", () => {
  render(<Chosen />);
  const status = () => screen.getByRole("status").textContent;
  expect(status()).toBe("");
  fireEvent.click(screen.getByRole("button", { name: "Total" }));
  expect(status()).toBe("Sorted by Total, descending.");
  expect(screen.getByRole("columnheader", { name: "Total" }).getAttribute("aria-sort")).toBe("descending");
  fireEvent.click(screen.getByRole("button", { name: "Total" }));
  expect(status()).toBe("Sorted by Total, ascending.");
});

test("of 100 000 rows cells are written for those in sight alone, wherever the box is scrolled to", () => {
  const rows = Array.from({ length: 100_000 }, (_, at) => ({ name: `kernel ${at}`, count: at, total: at * 1e3 }));
  const cell = vi.fn((row: Kernel) => row.name);
  render(<Chosen rows={rows} cell={cell} />);
  const box = document.querySelector<HTMLElement>(".rows")!;
  const drawn = () => document.querySelectorAll("tbody tr:not(.space)").length;
  expect(drawn()).toBeLessThan(40);
  cell.mockClear();
  box.scrollTop = 50_000 * 26;
  fireEvent.scroll(box);
  expect(screen.getByText("kernel 50000")).toBeTruthy();
  expect(drawn()).toBeLessThan(40);
  expect(cell.mock.calls.length).toBeLessThan(100);
});

test("the table behind a picture has one unit in a column, and draws what is in sight", () => {
  const rows = Array.from({ length: 100_000 }, (_, at) => [`step ${at}`, (at + 1) * 1e4]);
  render(<DataTable data={{ columns: [{ label: "Step" }, { label: "Time", unit: "ns" }], rows }} />);
  expect(lines().length).toBeLessThan(40);
  expect(lines()[0]).toBe("step 0|<0.1 ms");
  expect(lines()[9]).toBe("step 9|0.1 ms");
});

test.each([
  ["", 340, 0, ""],
  ["gemm", 12, 0, "12 of 340"],
  ["gemm", 12, 60, "12 of the 340 largest"],
])("a filter by %j says of how many rows it leaves %d (%d folded): %j", (typed, shown, folded, status) => {
  const about = { label: "Filter names", placeholder: "Filter", typed, shown, all: 340, folded };
  render(<Filter {...about} change={() => {}} />);
  expect(screen.getByRole("status").textContent).toBe(status);
});

test("only a table of more rows than it shows at once has a height of its own, so that no last row is cut", () => {
  const rows = Array.from({ length: 30 }, (_, at) => ({ name: `gemm ${at}`, count: 1, total: at }));
  const box = () => document.querySelector<HTMLElement>(".rows")!;
  const { rerender } = render(<Chosen />);
  expect(box().style.maxHeight).toBe("");
  rerender(<Chosen rows={rows} />);
  expect(Number.parseInt(box().style.maxHeight, 10)).toBeGreaterThan(20 * 26);
});
