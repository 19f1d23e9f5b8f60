import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { type Column, Table } from "../../src/components/table";

interface Kernel {
  name: string;
  ms: number;
}

const ROWS: readonly Kernel[] = ["gemm", "softmax", "copy"].map((name, at) => ({ name, ms: at + 1 }));
const COLUMNS: readonly Column<Kernel>[] = [
  { id: "name", label: "Kernel", cell: (row) => row.name },
  { id: "ms", label: "Time", cell: (row) => `${row.ms} ms` },
];

function draw(rows = ROWS, chosen?: string) {
  const choose = vi.fn();
  const shown = { label: "Kernels", columns: COLUMNS, rows, rowKey: (row: Kernel) => row.name, sort: undefined };
  render(<Table {...shown} onSort={() => {}} chosen={chosen} onChoose={choose} />);
  return choose;
}

const stops = () => [...document.querySelectorAll<HTMLElement>("tbody tr")].map((row) => row.tabIndex);
const focused = () => document.activeElement!.textContent;
const type = (...keys: string[]) => {
  for (const key of keys) fireEvent.keyDown(document.activeElement!, { key });
};
const enter = () => document.querySelector<HTMLElement>('tbody tr[tabindex="0"]')!.focus();

test("a table is one stop of the Tab key: its first row, or the one that is chosen", () => {
  draw();
  expect(stops()).toEqual([0, -1, -1]);
  draw(ROWS, "softmax");
  expect(stops().slice(3)).toEqual([-1, 0, -1]);
});

test("arrow keys go over rows and cells, and what they reach stays the stop", () => {
  draw();
  enter();
  type("ArrowDown");
  expect(focused()).toBe("softmax2 ms");
  expect(stops()).toEqual([-1, 0, -1]);
  type("ArrowRight", "ArrowRight");
  expect(focused()).toBe("2 ms");
  type("ArrowDown");
  expect(focused()).toBe("3 ms");
  type("Home");
  expect(focused()).toBe("copy");
  type("End", "ArrowUp", "ArrowLeft", "ArrowLeft");
  expect(focused()).toBe("softmax2 ms");
  type("End");
  expect(focused()).toBe("copy3 ms");
  type("ArrowDown", "Home");
  expect(focused()).toBe("gemm1 ms");
});

test("Enter and Space on a row or a cell choose the row", () => {
  const choose = draw();
  enter();
  type("Enter", "ArrowDown", "ArrowRight", " ");
  expect(choose.mock.calls).toEqual([[ROWS[0]], [ROWS[1]]]);
});

test("the last of many rows, which is not drawn yet, gets the focus when it is", async () => {
  draw(Array.from({ length: 500 }, (_, at) => ({ name: `kernel ${at}`, ms: at })));
  enter();
  type("End");
  const box = document.querySelector<HTMLElement>(".rows")!;
  expect(box.scrollTop).toBe(499 * 26);
  fireEvent.scroll(box);
  expect(await screen.findByText("kernel 499")).toBeTruthy();
  expect(focused()).toBe("kernel 499499 ms");
});
