/** Line charts: breaks between spans, and many lines as one crowd. */

import { h } from "preact";
import { render } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import { crowdOf, lineIn, nearestAt, valueIn, valuesAt } from "../src/charts/lines/crowd";
import { Plot } from "../src/charts/lines/line_chart";
import type { ChartLine } from "../src/charts/lines/line_layout";
import { scaleFor } from "../src/format";

const MS = 1e6;

function drawn(lines: ChartLine[], more: Partial<Parameters<typeof Plot>[0]> = {}): string {
  const stops = [0, 1, 2, 3].map((at) => ({ key: `${at}`, segment: 0, at }));
  return render(
    h(Plot, {
      label: "",
      width: 600,
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
      ...more,
    }),
  );
}

const borders = (lines: ChartLine[]): number => drawn(lines).split('class="border"').length - 1;

const points = (changed: number) =>
  [10, 10, 20, 20].map((value, stop) => ({ stop, value: value * MS, changed: stop === changed }));

test("a border stands where the line in focus goes to another level", () => {
  expect(borders([{ key: "a", name: "a", focus: true, points: points(2) }])).toBe(1);
});

test("lines that are not in focus have no borders", () => {
  expect(borders([{ key: "a", name: "a", focus: false, points: points(2) }])).toBe(0);
});

test("the labels at the left end do not overlap where the axis cuts values off, in a small picture neither", () => {
  for (const small of [false, true]) {
    const drawing = drawn([{ key: "a", name: "a", focus: true, points: points(-1) }], {
      ...{ small, end: 15 * MS, above: "2 values above the axis: 20 ms", height: small ? 120 : 200 },
    });
    const labels = [...drawing.matchAll(/<text class="end" x="[\d.]+" y="([\d.]+)"/g)].map(([, y]) => Number(y));
    const rows = labels.sort((one, other) => one - other);
    expect(rows.length).toBeGreaterThan(1);
    expect(Math.min(...rows.slice(1).map((y, at) => y - rows[at]!))).toBeGreaterThanOrEqual(12); // the size of the type
    expect(drawing).toContain("2 values above the axis: 20 ms");
  }
});

const line = (key: string, stops: number[], values: number[]) => ({
  key,
  name: key,
  stops: Int32Array.from(stops),
  values: Float64Array.from(values),
});

test("lines by stop: what is known there, and which line is nearest", () => {
  const crowd = crowdOf([line("a", [0, 1, 2], [5, Number.NaN, 7]), line("b", [1, 2], [8, 9])], 4);
  expect([0, 1, 2, 3, 4].map((stop) => [...valuesAt(crowd, stop)])).toEqual([[5], [8], [7, 9], [], []]);
  const to = (height: number) => (value: number) => Math.abs(value - height);
  expect([7.9, 8.1].map((height) => nearestAt(crowd, 2, to(height)))).toEqual(["a", "b"]);
  expect(nearestAt(crowd, 3, to(0))).toBeNull();
  expect([valueIn(crowd, "b", 2), valueIn(crowd, "b", 0)]).toEqual([9, null]);
  expect(lineIn(crowd, "a")!.points).toEqual([{ stop: 0, value: 5 }, null, { stop: 2, value: 7 }]);
  expect(lineIn(crowd, null)).toBeUndefined();
});

describe("the name of the reference line", () => {
  const reference = { value: 12 * MS, name: "median 12.0 ms" };
  const one: ChartLine = { key: "a", name: "run a", focus: true, points: points(-1) };
  /** The texts at the right of everything that is drawn of the lines, and where the lines and the reference end. */
  const beside = (lines: ChartLine[], width: number) => {
    const html = drawn(lines, { width, reference });
    const texts = [...html.matchAll(/<text[^>]*?x="([\d.]+)"[^>]*>([^<]*)</g)].map(([, x, text]) => ({
      x: Number(x),
      text,
    }));
    const ends = [...html.matchAll(/ (?:x2|cx)="([\d.]+)"/g)].map(([, x]) => Number(x));
    const right = Math.max(...ends);
    return texts.filter(({ x }) => x > right).map(({ text }) => text);
  };

  test("stands in two rows at its right end, outside the plot, where a narrow one has them too", () => {
    expect(beside([one], 600)).toEqual(["median", "12.0 ms"]);
    expect(beside([one], 300)).toEqual(["median", "12.0 ms"]);
  });

  test("stands there alone: the legend names the runs", () => {
    const lines = [
      { ...one, hue: 0 },
      { ...one, key: "b", name: "run b", focus: false, hue: 1 },
    ];
    expect(beside(lines, 600)).toEqual(["median", "12.0 ms"]);
    expect(drawn(lines)).not.toContain("run b");
  });
});
