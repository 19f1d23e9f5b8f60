/** The part of a step that no verdict counts: its hatching, and the text of its tip. */

import { render } from "@testing-library/preact";
import { expect, test } from "vitest";
import { StackedBars } from "../../src/charts/bars/stacked_bars";
import { scaleFor } from "../../src/format";
import { leftOut, leftOutRows } from "../../src/views/overview/overview";
import { OVERVIEW } from "../fixtures/pages";

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

/** The height of the hatching of two bars of 100 and 50 ms, in pixels; 0 if there is none. */
function hatched(label: string, values?: readonly number[]): number {
  render(
    <StackedBars
      label={label}
      names={["1", "2"]}
      parts={[{ id: "kernel", colour: "kernel", hatched: false, values: [100, 50] }]}
      leftOut={values}
      unit="ms"
      axis="step"
      heads={["100", "50"]}
      firm={[false, false]}
      hovered={null}
      selected={null}
      hover={() => {}}
      select={() => {}}
      tip={() => ({ title: "", rows: [] })}
    />,
  );
  const paths = document.querySelectorAll(`svg[aria-label="${label}"] path`);
  const outline = paths[paths.length - 1]!.getAttribute("d")!;
  return Number(/v-([\d.]+)/.exec(outline)?.[1] ?? 0);
}

test("the top of a bar is hatched for as long as is left out, and never more than the bar", () => {
  const whole = hatched("whole", [400, 0]);
  expect(hatched("some", [40, 0])).toBeCloseTo(0.4 * (whole + 1) - 1, 0);
  expect(hatched("none")).toBe(0);
});
