import { describe, expect, test } from "vitest";
import type { ScalarSeries } from "../src/api.gen";
import { axisOver, type Over } from "../src/views/trends/axis";
import { runsOf } from "../src/views/trends/runs";
import { loggedRange, placed } from "../src/views/trends/scalars";
import { trendSpan, trendsPage } from "./fixtures/figures";

const MS = 1_000_000;
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
