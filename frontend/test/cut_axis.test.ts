import { describe, expect, test } from "vitest";
import { NOBODY } from "../src/charts/lines/crowd";
import type { ChartLine } from "../src/charts/lines/line_layout";
import { axisOver } from "../src/views/trends/axis";
import { axisEnd, largestShown, valuesAbove } from "../src/views/trends/charts/cut_axis";
import { runsOf } from "../src/views/trends/runs";
import { shownLines } from "../src/views/trends/shown_lines";
import { trendSpan, trendsPage } from "./fixtures/figures";
import { CATALOGUE } from "./fixtures/meanings";

const line = (name: string, values: readonly (number | null)[], focus = false): ChartLine => ({
  key: name,
  name,
  focus,
  points: values.map((value, stop) => (value === null ? null : { stop, value })),
});
const end = (...lines: ChartLine[]) => axisEnd(lines, NOBODY);
const above = (...lines: ChartLine[]) => valuesAbove(lines, NOBODY, end(...lines));

describe("an axis ends below values that would flatten all others", () => {
  test("one of six that is far above", () => {
    const one = line("a", [50, 52, 12_000, 51, null, 49, 50], true);
    expect([end(one), largestShown([one], end(one))]).toEqual([52, 52]);
    expect(above(one)).toEqual({ count: 1, low: 12_000, high: 12_000, name: null });
  });

  test("a run far above most others, named", () => {
    const runs = [line("a", [50, 52]), line("long", [9_000, 9_100]), line("b", [80, 85], true)];
    expect([end(...runs), above(...runs)]).toEqual([85, { count: 2, low: 9_000, high: 9_100, name: "long" }]);
  });

  test("of two the upper one, unless it is the one in focus", () => {
    expect(end(line("long", [9_000, 9_100]), line("b", [80, 85], true))).toBe(85);
    expect(end(line("b", [80, 85]), line("long", [9_000, 9_100], true))).toBeNull();
  });

  test("the end of a range over workers counts", () => {
    const wide: ChartLine = {
      ...line("a", [], true),
      points: [50, 51, 52, 53, 54].map((value, stop) => ({ stop, value, low: 40, high: stop === 2 ? 5_000 : 60 })),
    };
    expect([end(wide), above(wide)?.count]).toEqual([60, 1]);
  });
});

describe("an axis holds all values", () => {
  test.each<[string, ChartLine[]]>([
    ["that are within ten times of each other", [line("a", [50, 52, 450, 51, 49, 50], true)]],
    ["of a wait that comes again and again", [line("a", [5, 5, 5, 900, 5, 5, 5, 900, 5, 5, 5, 900], true)]],
    ["where there are too few to say which is odd", [line("a", [50, 9_000], true)]],
    ["where most are 0", [line("a", [0, 0, 0, 0, 0, 0, 400], true)]],
    ["where there are none", [line("a", [null, null], true)]],
  ])("%s", (_, lines) => expect(end(...lines)).toBeNull());
});

describe("a trend", () => {
  const runs = runsOf(
    trendsPage([
      trendSpan({ run: "short", number: 1, first: 5, ms: [50, 55, 52] }),
      trendSpan({ run: "long", number: 1, first: 5, ms: [12_000, 12_500, 12_300] }),
    ]),
  );
  const asked = { group: [], of: "runs", compared: null, small: false } as const;
  const focused = [runs.find(({ name }) => name === "long")!, runs.find(({ name }) => name === "short")!];
  const shown = (id: string, whole: boolean) =>
    shownLines(
      CATALOGUE.metrics.find((metric) => metric.id === id)!,
      { ...asked, runs: focused, whole },
      axisOver("steps", runs),
      [],
    );

  test("tells what lies above its axis, in the unit of the rest", () => {
    const { above: text, scale } = shown("step_time", false);
    expect(text).toBe("3\u00a0values above the axis (long): 12.00\u00a0s to 12.50\u00a0s");
    expect(scale.unit).toBe("ms");
  });

  test("has the whole axis where the reader wants it, and where shares end at 100 %", () => {
    expect(shown("step_time", true)).toMatchObject({ end: null, above: "" });
    expect(shown("gpu_utilization", false).end).toBeNull();
  });
});
