import { describe, expect, test } from "vitest";
import { spread } from "../src/charts/lines/line_chart";
import { withShortNames } from "../src/views/trends/asked";
import { type Casting, castOf, ranked, worst } from "../src/views/trends/cast";
import { bandOf, MANY_WORKERS, runsOf, stepValue, workersOf } from "../src/views/trends/runs";
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
const asked = (of: Partial<Casting> = {}): Casting => ({
  focus: null,
  compared: null,
  typed: "",
  metric: STEP_TIME,
  moreIsBetter: ["gpu_utilization"],
  ...of,
});

describe("which runs are drawn one by one", () => {
  test("all of twelve, each with its own colour whichever is in focus", () => {
    const { lines, group } = castOf(runs(12), [], asked({ focus: "jobs/run_3_v100" }));
    expect([lines.length, group.length]).toEqual([12, 0]);
    expect(lines.at(-1)).toMatchObject({ label: "run_3", hue: 3 });
    const other = castOf(runs(12), [], asked({ focus: "jobs/run_7_v100" })).lines;
    expect(other.find(({ label }) => label === "run_3")!.hue).toBe(3);
    expect(new Set(lines.map(({ hue }) => hue)).size).toBe(12);
  });

  test("of more the worst three, the one in focus and the one it is compared with", () => {
    const { lines, group } = castOf(runs(14), [], asked({ focus: "jobs/run_3_v100", compared: "jobs/run_8_v100" }));
    const alone = ["run_8", "run_11", "run_12", "run_13", "run_3"];
    expect(names(lines)).toEqual(alone);
    expect(names(group)).toEqual(names(runs(14)).filter((label) => !alone.includes(label)));
  });

  test("and those that were searched for, six at most, in place of the worst", () => {
    expect(names(castOf(runs(13), [], asked({ typed: "run_1" })).lines)).toEqual([
      "run_1",
      "run_10",
      "run_11",
      "run_12",
    ]);
    expect(names(castOf(runs(40), [], asked({ typed: "v100 run_1" })).lines)).toHaveLength(7);
    const nothing = castOf(runs(40), [], asked({ focus: "jobs/run_2_v100", typed: "nothing" }));
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
    const { lines, group, of } = castOf([run!], workersOf(run!), asked({ worker: "rank_2" }));
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

test("names at the ends of lines stand apart, in their order, inside the picture", () => {
  expect(spread([50, 51, 10], 0, 100)).toEqual([50, 63, 10]);
  expect(spread([99, 98, 97], 0, 100)).toEqual([100, 87, 74]);
  const many = spread(
    Array.from({ length: 12 }, () => 40),
    0,
    110,
  );
  expect([Math.min(...many), Math.max(...many)]).toEqual([0, 110]);
});
