import { describe, expect, test } from "vitest";
import { logTicks, logX } from "../src/charts/axes";
import { levelFor, valueAt } from "../src/charts/time/time_bins";
import { zoomWithin } from "../src/views/choices";
import { waveRows } from "../src/views/gpu/charts/waves";

describe("the resolution of a row", () => {
  const levels = [256, 1024, 4096].map((count) => ({
    start: 0,
    bin: 4096_000 / count,
    values: Array.from({ length: count }, (_, at) => at),
  }));
  const bins = (low: number, high: number, pixels: number) => levelFor(levels, low, high, pixels).values.length;

  test("is the finest whose bins are a pixel wide", () => {
    expect([bins(0, 4096_000, 1023), bins(0, 4096_000, 1024), bins(0, 4096_000, 4096)]).toEqual([256, 1024, 4096]);
  });

  test("grows finer with the zoom, and stays at the finest beyond it", () => {
    expect([bins(0, 1024_000, 1024), bins(0, 1000, 1024)]).toEqual([4096, 4096]);
  });

  test("is the coarsest where even its bins are thinner than a pixel", () => {
    expect(bins(0, 4096_000, 100)).toBe(256);
  });

  test("nothing to draw has no values", () => {
    expect(valueAt(levelFor([], 0, 10, 10), 5)).toBeNull();
  });

  test("a bin holds its start and not its end", () => {
    const level = { start: 0, bin: 10, values: [7, null, 9] };
    expect([0, 9.9, 10, 20, 29.9, 30, -1].map((at) => valueAt(level, at))).toEqual([7, 7, null, 9, 9, null, null]);
  });
});

test("a zoom of another span does not hold", () => {
  const zoom = { from: 10, to: 50 };
  expect(zoomWithin({ zoom }, { from: 0, to: 49.5 })).toEqual(zoom);
  expect(zoomWithin({ zoom }, { from: 0, to: 40 })).toBeNull();
  expect(zoomWithin({ zoom }, { from: 20, to: 90 })).toBeNull();
  expect(zoomWithin({}, { from: 0, to: 100 })).toBeNull();
});

describe("waves", () => {
  const launch = { sms: 10, resident: 2, waves: 2, tail: 13, whole: false };

  test("blocks of the last wave go to all SMs in turn", () => {
    expect(waveRows(launch, 6)).toEqual([
      { first: 1, waves: 1, blocks: 20, tail: false, segments: [{ wide: 1, high: 1 }] },
      {
        first: 2,
        waves: 1,
        blocks: 13,
        tail: true,
        segments: [
          { wide: 0.3, high: 1 },
          { wide: 0.7, high: 0.5 },
        ],
      },
    ]);
  });

  test("every block has its place", () => {
    for (const tail of [1, 9, 10, 11, 20]) {
      const area = waveRows({ ...launch, tail }, 6)[1]!.segments.reduce((sum, { wide, high }) => sum + wide * high, 0);
      expect(area * 20).toBeCloseTo(tail, 9);
    }
  });

  test("a full last wave is no tail, nor what a persistent kernel leaves", () => {
    expect([waveRows({ ...launch, tail: 20 }, 6)[1]!.tail, waveRows({ ...launch, whole: true }, 6)[1]!.tail]).toEqual([
      false,
      false,
    ]);
  });

  test("many waves fold into one row, and none is lost", () => {
    for (const waves of [1, 5, 6, 7, 1000]) {
      const rows = waveRows({ ...launch, waves }, 6);
      expect(rows.length).toBeLessThanOrEqual(6);
      expect(rows.reduce((sum, row) => sum + row.waves, 0)).toBe(waves);
      expect(rows[rows.length - 1]).toMatchObject({ first: waves, blocks: 13, tail: true });
    }
    expect(waveRows({ ...launch, waves: 7 }, 6).map((row) => row.waves)).toEqual([1, 1, 1, 1, 2, 1]);
  });
});

describe("ticks of lengths", () => {
  test("stand at powers of ten over decades, closer within one", () => {
    expect(logTicks(1, 5000)).toEqual([1, 10, 100, 1000]);
    expect(logTicks(3, 40)).toEqual([3, 10, 30]);
    expect(logTicks(0.32, 1.02)).toEqual([0.5, 0.7, 1]);
  });

  test("are evenly apart where no round figures fit", () => {
    expect(logTicks(184, 279)).toEqual([200, 220, 240, 260]);
  });

  test("lengths that are all equal have one", () => {
    expect([logTicks(7, 7), logX(7, 7, 7, 0, 100)]).toEqual([[7], 50]);
  });

  test("equal factors are equally far apart", () => {
    const at = [10, 100, 1000].map((value) => logX(value, 10, 1000, 40, 240));
    expect(at[0]).toBeCloseTo(40, 9);
    expect(at[1]).toBeCloseTo(140, 9);
    expect(at[2]).toBeCloseTo(240, 9);
  });
});
