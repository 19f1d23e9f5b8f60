/**
 * Where figures lead and come from: links to a marked row or a step in the Timeline, and the part of a step that no
 * verdict counts.
 */

import { fireEvent, render, screen } from "@testing-library/preact";
import type { ComponentProps } from "preact";
import { expect, test, vi } from "vitest";
import { GAP_PX } from "../../src/charts/axes";
import { StackedBars } from "../../src/charts/bars/stacked_bars";
import { Table } from "../../src/components/table";
import { shortenedTo } from "../../src/dom/text_width";
import { scaleFor } from "../../src/format";
import { evidenceKeys, marking } from "../../src/views/choices";
import { LargestPieces, leftOut, leftOutRows } from "../../src/views/overview/overview";
import { INSIGHT, OVERVIEW, plain, TAB } from "../fixtures/pages";

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
      {...marks("cpu_ops")}
    />,
  );
  const row = screen.getByText("op 3").closest("tr")!;
  expect(row.getAttribute("aria-current")).toBe("true");
  expect(document.activeElement).toBe(row);
  expect(shown).toHaveBeenCalledTimes(1);
  expect(document.querySelectorAll('tr[aria-current="true"]')).toHaveLength(1);
});

/** Draws bars in ms that nobody points at, and returns the picture. */
function bars(
  label: string,
  names: string[],
  values: number[],
  more: Partial<ComponentProps<typeof StackedBars>> = {},
) {
  render(
    <StackedBars
      label={label}
      names={names}
      parts={[{ id: "kernel", colour: "kernel", hatched: false, values }]}
      unit="ms"
      axis="bar"
      heads={values.map(String)}
      firm={values.map(() => false)}
      hovered={null}
      selected={null}
      hover={() => {}}
      select={() => {}}
      tip={() => ({ title: "", rows: [] })}
      {...more}
    />,
  );
  return document.querySelector(`svg[aria-label="${label}"]`)!;
}

test("a double click or Enter opens the step of a bar, Space selects it", () => {
  const [open, select] = [vi.fn(), vi.fn()];
  const picture = bars("steps", ["5", "6"], [100, 50], { hovered: 1, select, open });
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

const MS = 1e6;
const first = OVERVIEW.steps[0]!;
const step = { ...first, before_recording_ns: 40 * MS, once_ns: 0, after_recording_ns: 2 * MS };
const reason = {
  id: "before_recording",
  label: "Before recording",
  meaning: "",
  colour: "other",
  hatched: true,
  works: false,
};

test("a tip says how much of a step is left out, and why", () => {
  expect([leftOut(first), leftOut(step)]).toEqual([0, 42 * MS]);
  const rows = leftOutRows(step, [reason], scaleFor(100 * MS, "ns"));
  expect(rows.map(({ name, value }) => `${name} ${value}`)).toEqual([
    "of it before recording 40.0\u00a0ms",
    "of it after_recording 2.0\u00a0ms",
  ]);
});

test("a name that is wider than the room of its bar is shortened, and none is left out", () => {
  const names = Array.from({ length: 12 }, (_, at) => `Launch number ${at} not recorded`);
  const picture = bars(
    "phases",
    names,
    names.map(() => 1),
  );
  const shown = [...picture.querySelectorAll("text.mid:not(.halo)")].slice(0, names.length);
  const middles = shown.map((each) => Number(each.getAttribute("x")));
  const room = middles[1]! - middles[0]!;
  expect(shown.map((each) => each.textContent)).toEqual(names.map((name) => shortenedTo(name, room - GAP_PX)));
  expect(shown.map((each) => each.textContent)).not.toEqual(names);
});

/** The height of the hatching of two bars of 100 and 50 ms, in pixels; 0 if there is none. */
function hatched(label: string, values?: readonly number[]): number {
  const paths = bars(label, ["1", "2"], [100, 50], { leftOut: values }).querySelectorAll("path");
  const outline = paths[paths.length - 1]!.getAttribute("d")!;
  return Number(/v-([\d.]+)/.exec(outline)?.[1] ?? 0);
}

test("the top of a bar is hatched for as long as is left out, and never more than the bar", () => {
  const whole = hatched("whole", [400, 0]);
  expect(hatched("some", [40, 0])).toBeCloseTo(0.4 * (whole + 1) - 1, 0);
  expect(hatched("none")).toBe(0);
});
