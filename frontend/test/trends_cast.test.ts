import { describe, expect, test } from "vitest";
import { spread } from "../src/charts/lines/line_ends";
import { castOf, quartilesOf, ranked, withShortNames } from "../src/views/trends/cast";
import { runsOf } from "../src/views/trends/runs";
import { trendSpan, trendsPage } from "./fixtures/figures";

const MS = 1_000_000;
const pageOf = (count: number) =>
  trendsPage(
    Array.from({ length: count }, (_, at) =>
      trendSpan({ run: `jobs/run_${at}_v100`, number: 1, first: 5, ms: [100 + at, 102 + at] }),
    ),
  );
const runs = (count: number) => runsOf(pageOf(count));
const names = (all: readonly { label: string }[]) => all.map(({ label }) => label);

describe("which runs are drawn one by one", () => {
  test("all of twelve, each with its own colour whichever is in focus", () => {
    const { lines, group } = castOf(runs(12), "jobs/run_3_v100", null, "");
    expect([lines.length, group.length]).toEqual([12, 0]);
    expect(lines.at(-1)).toMatchObject({ label: "run_3", hue: 3 });
    const other = castOf(runs(12), "jobs/run_7_v100", null, "").lines;
    expect(other.find(({ label }) => label === "run_3")!.hue).toBe(3);
    expect(new Set(lines.map(({ hue }) => hue)).size).toBe(12);
  });

  test("of more the one in focus and the one it is compared with", () => {
    const { lines, group } = castOf(runs(13), "jobs/run_3_v100", "jobs/run_8_v100", "");
    expect(names(lines)).toEqual(["run_8", "run_3"]);
    expect(names(group)).toEqual(names(runs(13)).filter((label) => label !== "run_3" && label !== "run_8"));
  });

  test("and those that were searched for, six at most", () => {
    expect(names(castOf(runs(13), null, null, "run_1").lines)).toEqual(["run_1", "run_10", "run_11", "run_12"]);
    expect(names(castOf(runs(40), null, null, "v100 run_1").lines)).toHaveLength(7);
    expect(names(castOf(runs(40), "jobs/run_2_v100", null, "nothing").lines)).toEqual(["run_2"]);
  });
});

test("quartiles are the medians of both halves", () => {
  expect(quartilesOf([])).toBeNull();
  expect(quartilesOf([4])).toEqual({ median: 4, low: 4, high: 4 });
  expect(quartilesOf([5, 1, 4, 2, 3])).toEqual({ median: 3, low: 2, high: 4 });
  expect(quartilesOf([8, 2, 6, 4])).toEqual({ median: 5, low: 3, high: 7 });
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
