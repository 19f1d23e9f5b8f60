/** Links lead to what they mention: a row that is marked and scrolled into view, or a step in the Timeline. */

import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { StackedBars } from "../../src/charts/bars/stacked_bars";
import { Table } from "../../src/components/table";
import { evidenceKeys, marking } from "../../src/views/choices";
import { LargestPieces } from "../../src/views/overview/largest";
import { INSIGHT, plain, TAB } from "../fixtures/pages";

const ROWS = Array.from({ length: 500 }, (_, at) => `op ${at}`);

test("the row that a card leads to is framed, in view, and has the focus", async () => {
  const shown = vi.spyOn(Element.prototype, "scrollIntoView");
  const keys = evidenceKeys({ ...INSIGHT, view: "host", row: { table: "cpu_ops", key: "op 3" } }, { calls: "add" });
  expect(keys).toMatchObject({ view: "host", mark: "cpu_ops:op 3", calls: null });
  const own = (op: string) => op;
  const marks = (table: string) => marking({ mark: "cpu_ops:op 3" }, table, ROWS, own, own);
  expect(marks("sites")).toEqual({});
  render(
    <Table
      label="Ops"
      columns={[{ id: "op", label: "Op", cell: own }]}
      rows={ROWS}
      rowKey={own}
      sort={undefined}
      onSort={null}
      {...marks("cpu_ops")}
    />,
  );
  const row = screen.getByText("op 3").closest("tr")!;
  expect(row.getAttribute("aria-current")).toBe("true");
  expect(document.activeElement).toBe(row);
  expect(shown).toHaveBeenCalledTimes(1);
  expect(document.querySelectorAll('tr[aria-current="true"]')).toHaveLength(1);
});

test("a double click or Enter opens the step of a bar, Space selects it", () => {
  const [open, select] = [vi.fn(), vi.fn()];
  render(
    <StackedBars
      label="steps"
      names={["5", "6"]}
      parts={[{ id: "kernel", colour: "kernel", hatched: false, values: [100, 50] }]}
      unit="ms"
      axis="step"
      heads={["100", "50"]}
      firm={[false, false]}
      hovered={1}
      selected={null}
      hover={() => {}}
      select={select}
      open={open}
      tip={() => ({ title: "", rows: [] })}
    />,
  );
  const picture = document.querySelector('svg[aria-label="steps"]')!;
  fireEvent.keyDown(picture, { key: " " });
  fireEvent.keyDown(picture, { key: "Enter" });
  fireEvent.dblClick(picture);
  expect(select.mock.calls).toEqual([[1]]);
  expect(open.mock.calls).toEqual([[1], [1]]);
});

test("a largest piece leads to its row", () => {
  const update = vi.fn();
  const row = { table: "kernels", key: "void gemm<float>(int)" };
  const found = {
    title: plain("Nothing big is left"),
    shares_of: plain("share of kernel time"),
    throughput: plain("100 steps a second."),
    threads: null,
    pieces: [{ name: "gemm f32", ns: 8e6, share: 0.8, view: "gpu", row }],
    leads: true,
  };
  render(<LargestPieces found={found} tab={{ ...TAB, update }} />);
  expect(screen.getByText("80.0 %")).toBeTruthy();
  fireEvent.click(screen.getByText("gemm f32"));
  expect(update.mock.calls).toEqual([[{ view: "gpu", mark: "kernels:void gemm<float>(int)" }]]);
});
