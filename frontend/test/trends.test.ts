/** Trends: which runs have lines, where an axis ends, the job's own scalars, and the ends of rows. */

import { describe, expect, test } from "vitest";
import type { ScalarSeries } from "../src/api.gen";
import { NOBODY } from "../src/charts/lines/crowd";
import type { ChartLine } from "../src/charts/lines/line_layout";
import { withShortNames } from "../src/views/trends/asked";
import { axisOver, type Over } from "../src/views/trends/axis";
import { type Casting, castOf, ranked, worst } from "../src/views/trends/cast";
import { axisEnd, largestShown, valuesAbove } from "../src/views/trends/charts/cut_axis";
import { stripEnd } from "../src/views/trends/heatmap_picture";
import { shownLines } from "../src/views/trends/lines";
import { bandOf, MANY_WORKERS, runsOf, stepValue, workersOf } from "../src/views/trends/runs";
import { loggedRange, placed } from "../src/views/trends/scalars";
import { trendSpan, trendsPage } from "./fixtures/figures";
import { CATALOGUE } from "./fixtures/meanings";

const MS = 1_000_000;
const pageOf = (count: number) =>
  trendsPage(
    Array.from({ length: count }, (_, at) =>
      trendSpan({ run: `jobs/run_${at}_v100`, number: 1, first: 5, ms: [100 + at, 102 + at] }),
    ),
  );
const runs = (count: number) => runsOf(pageOf(count));
const names = (all: readonly { label: string }[]) => all.map(({ label }) => label);

const STEP_TIME = CATALOGUE.metrics.find(({ id }) => id === "step_time")!;
const casting = (of: Partial<Casting> = {}): Casting => ({
  focus: null,
  compared: null,
  typed: "",
  metric: STEP_TIME,
  moreIsBetter: ["gpu_utilization"],
  ...of,
});

describe("which runs are drawn one by one", () => {
  test("all of twelve, each with its own colour whichever is in focus", () => {
    const { lines, group } = castOf(runs(12), [], casting({ focus: "jobs/run_3_v100" }));
    expect([lines.length, group.length]).toEqual([12, 0]);
    expect(lines.at(-1)).toMatchObject({ label: "run_3", hue: 3 });
    const other = castOf(runs(12), [], casting({ focus: "jobs/run_7_v100" })).lines;
    expect(other.find(({ label }) => label === "run_3")!.hue).toBe(3);
    expect(new Set(lines.map(({ hue }) => hue)).size).toBe(12);
  });

  test("of more the worst three, the one in focus and the one it is compared with", () => {
    const { lines, group } = castOf(runs(14), [], casting({ focus: "jobs/run_3_v100", compared: "jobs/run_8_v100" }));
    const alone = ["run_8", "run_11", "run_12", "run_13", "run_3"];
    expect(names(lines)).toEqual(alone);
    expect(names(group)).toEqual(names(runs(14)).filter((label) => !alone.includes(label)));
  });

  test("and those that were searched for, six at most, in place of the worst", () => {
    expect(names(castOf(runs(13), [], casting({ typed: "run_1" })).lines)).toEqual([
      "run_1",
      "run_10",
      "run_11",
      "run_12",
    ]);
    expect(names(castOf(runs(40), [], casting({ typed: "v100 run_1" })).lines)).toHaveLength(7);
    const nothing = castOf(runs(40), [], casting({ focus: "jobs/run_2_v100", typed: "nothing" }));
    expect(names(nothing.lines)).toEqual(["run_2"]);
  });
});

/** One run with this many workers, each a little slower than the one before. */
const job = (count: number) =>
  runsOf(
    trendsPage(
      Array.from({ length: count }, (_, at) =>
        trendSpan({ run: "job", worker: `rank_${at}`, number: 1, first: 5, ms: [100 + at, 102 + at] }),
      ),
    ),
  );

describe("one run of many workers", () => {
  test("is their median and the band of four fifths, and the worst three stand beside it", () => {
    const [run] = job(21);
    expect(stepValue(run!.steps[0]!, "step_time")).toEqual({ value: 110 * MS, low: 102 * MS, high: 118 * MS });
    const { lines, group, of } = castOf([run!], workersOf(run!), casting({ worker: "rank_2" }));
    expect(of).toBe("workers");
    expect(names(lines)).toEqual(["rank_2", "rank_18", "rank_19", "rank_20", "job"]);
    expect(lines.map(({ hue }) => hue)).toEqual([0, 1, 2, 3, undefined]);
    expect(group).toHaveLength(17);
  });

  test("of fewer it is their mean and range", () => {
    const [run] = job(MANY_WORKERS - 1);
    expect(stepValue(run!.steps[0]!, "step_time")).toEqual({ value: 105.5 * MS, low: 100 * MS, high: 111 * MS });
  });
});

test("the worst are those with long steps, or with a GPU that does little", () => {
  const labels = (moreIsBetter: string[]) => worst(runs(9), STEP_TIME, moreIsBetter).map(({ run }) => run.label);
  expect(labels([])).toEqual(["run_8", "run_7", "run_6"]);
  expect(labels(["step_time"])).toEqual(["run_0", "run_1", "run_2"]);
});

test("a band goes from the 10th to the 90th percentile", () => {
  expect(bandOf([])).toBeNull();
  expect(bandOf([4])).toEqual({ median: 4, low: 4, high: 4 });
  expect(bandOf([5, 1, 4, 2, 3])).toEqual({ median: 3, low: 1.4, high: 4.6 });
});

test("runs stand by their mean, those without the figure nowhere", () => {
  expect(ranked(runs(3), "step_time").map(({ run, value }) => [run.label, value])).toEqual([
    ["run_2", 103 * MS],
    ["run_1", 102 * MS],
    ["run_0", 101 * MS],
  ]);
  expect(ranked(runs(3), "data_loading_exposed")).toEqual([]);
});

test("sentences of the server call runs as the pictures do, and nothing else changes", () => {
  const verdict = {
    template: "From {a} in {first}, {note}",
    values: {
      a: { value: 5, unit: "ns" as const },
      first: { value: "jobs/run_1_v100", unit: "text" as const },
      note: { value: "jobs/run_1_v1000", unit: "text" as const },
    },
  };
  const page = pageOf(2);
  const { headline } = withShortNames({ ...page, headline: { ...page.headline, verdict } });
  expect(headline.verdict.values).toEqual({ ...verdict.values, first: { value: "run_1", unit: "text" } });
});

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
  const casting = { group: [], of: "runs", compared: null, small: false } as const;
  const focused = [runs.find(({ name }) => name === "long")!, runs.find(({ name }) => name === "short")!];
  const shown = (id: string, whole: boolean) =>
    shownLines(
      CATALOGUE.metrics.find((metric) => metric.id === id)!,
      { ...casting, runs: focused, whole },
      axisOver("steps", runs),
      [],
    );

  test.each([
    ["steps", "median"],
    ["spans", "median span"],
    ["time", "median"],
  ] satisfies [Over, string][])("over %s the line across is the %s", (over, named) => {
    const spans = [1, 2, 3, 4, 5].map((number) => trendSpan({ run: "a", number, first: 5, ms: [100, 102] }));
    const many = runsOf(trendsPage(spans));
    const casting = { runs: many, group: [], of: "runs" as const, compared: null, small: false, whole: false };
    const { level } = shownLines(STEP_TIME, casting, axisOver(over, many), []);
    expect(level?.name).toMatch(new RegExp(`^${named} \\d`));
  });

  test("tells what lies above its axis, in the unit of the rest", () => {
    const { above: text, scale } = shown("step_time", false);
    expect(text).toBe("3\u00a0values above the axis (long): 12.0\u00a0s to 12.5\u00a0s");
    expect(scale.unit).toBe("ms");
  });

  test("has the whole axis where the reader wants it, and where shares end at 100 %", () => {
    expect(shown("step_time", true)).toMatchObject({ end: null, above: "" });
    expect(shown("gpu_utilization", false).end).toBeNull();
  });
});

/** Two spans that are a minute apart: steps 5 and 6, then steps 8 and 9. */
const [RUN] = runsOf(
  trendsPage([
    trendSpan({ run: "a", number: 1, first: 5, ms: [100, 100] }),
    trendSpan({ run: "a", number: 2, first: 8, ms: [100, 100] }),
  ]),
);
const BEGUN = 1_600_000_000_000_000_000 + 60_000 * MS;

const series = (points: [step: number, ms: number, value: number | null][]): ScalarSeries => ({
  source: "a",
  tag: "loss",
  steps: points.map(([step]) => step),
  wall_ns: points.map(([, ms]) => BEGUN + ms * MS),
  values: points.map(([, , value]) => value),
});
const on = (over: Over, given: ScalarSeries) =>
  placed(given, over, axisOver(over, [RUN!], loggedRange([given])), RUN!).map(({ value }) => value);

describe("the job's own scalars stand", () => {
  test("over steps at the profiler's step of the same number; other steps have no place", () => {
    const given = series([
      [4, 0, 9],
      [5, 1, 8],
      [8, 60_000, 7],
      [9, 60_100, null],
    ]);
    const axis = axisOver("steps", [RUN!]);
    expect(placed(given, "steps", axis, RUN!)).toEqual([
      { segment: 0, at: 0, value: 8 },
      { segment: 1, at: 0, value: 7 },
    ]);
  });

  test("over spans with what held when the span ended, over pauses of the logger too", () => {
    expect(
      on(
        "spans",
        series([
          [0, 50, 9],
          [1, 150, 8],
          [2, 900, 7],
          [3, 70_000, 6],
        ]),
      ),
    ).toEqual([8, 7]);
    expect(on("spans", series([[0, 70_000, 9]]))).toEqual([]);
  });

  test("over time at their own time, on an axis that shows all of it", () => {
    const given = series([
      [0, -5_000, 9],
      [1, 30_000, null],
      [2, 30_500, 8],
      [3, 90_000, 7],
    ]);
    expect(on("time", given)).toEqual([9, 8, 7]);
    expect(axisOver("time", [RUN!], loggedRange([given])).segments).toHaveLength(1);
    expect(loggedRange([])).toBeNull();
  });
});

test("runs that are far longer than all others go on beyond the axis", () => {
  expect(stripEnd([10, 12, 100])).toBe(12);
  expect(stripEnd([30, 12, 121])).toBe(30);
  expect(stripEnd([10, 10, 100, 90, 12, 13, 10, 10])).toBe(13);
});

test("the axis goes to the end of the longest where that is not far, is in focus, or where many are as long", () => {
  expect(stripEnd([10, 12, 48])).toBeNull();
  expect(stripEnd([100, 12, 10])).toBeNull();
  expect(stripEnd([10, 100, 100, 12])).toBeNull();
  expect(stripEnd([10])).toBeNull();
  expect(stripEnd([])).toBeNull();
  expect(stripEnd([0, 5])).toBeNull();
});
