import { h } from "preact";
import { render } from "preact-render-to-string";
import { expect, test } from "vitest";
import { Plot } from "../src/charts/lines/line_chart";
import type { ChartLine } from "../src/charts/lines/line_layout";
import { scaleFor } from "../src/format";

const MS = 1e6;

function borders(lines: ChartLine[]): number {
  const stops = [0, 1, 2, 3].map((at) => ({ key: `${at}`, segment: 0, at }));
  const html = render(
    h(Plot, {
      label: "",
      width: 400,
      height: 200,
      segments: [{ from: 0, to: 3, caption: "", marks: [] }],
      stops,
      pad: 0,
      lines,
      scale: scaleFor(20 * MS, "ns"),
      colour: "ink",
      hovered: null,
      selected: null,
      hover: () => undefined,
      select: () => undefined,
      tip: () => ({ title: "", rows: [] }),
    }),
  );
  return html.split('class="border"').length - 1;
}

const points = (changed: number) =>
  [10, 10, 20, 20].map((value, stop) => ({ stop, value: value * MS, changed: stop === changed }));

test("a border stands where the line in focus goes to another level", () => {
  expect(borders([{ key: "a", name: "a", focus: true, points: points(2) }])).toBe(1);
});

test("lines that are not in focus have no borders", () => {
  expect(borders([{ key: "a", name: "a", focus: false, points: points(2) }])).toBe(0);
});
