import { describe, expect, test } from "vitest";
import { thinned, ticks, valueAxis, zeroAxis } from "../src/charts/axes";
import { brokenAxis } from "../src/charts/lines/line_layout";
import { bandOf, chains, decimated, pathOf } from "../src/charts/lines/polyline";
import { moved, nearest } from "../src/charts/pointer/pointing";

describe("a broken axis", () => {
  test("gives each segment room for its steps, one pace for all, and a break between", () => {
    const axis = brokenAxis(
      [
        { from: 5, to: 10 },
        { from: 16, to: 21 },
      ],
      50,
      676,
      0.5,
    );
    expect(axis).toMatchObject({
      gap: 14,
      pace: 51,
      edges: [
        [50, 356],
        [370, 676],
      ],
    });
    expect([axis.x(0, 5), axis.x(0, 10), axis.x(1, 16)]).toEqual([75.5, 330.5, 395.5]);
  });

  test("a single step has room too", () => {
    const axis = brokenAxis([{ from: 3, to: 3 }], 0, 100, 0.5);
    expect(axis.x(0, 3)).toBe(50);
  });

  test("a thousand breaks leave three quarters of the axis to what was recorded, and nothing overlaps", () => {
    const axis = brokenAxis(
      Array.from({ length: 1000 }, () => ({ from: 0, to: 5 })),
      0,
      600,
      0.6,
    );
    const held = axis.edges.reduce((sum, [from, to]) => sum + to - from, 0);
    expect(held).toBeCloseTo(450);
    expect(axis.edges.every(([from], at) => at === 0 || from >= axis.edges[at - 1]![1])).toBe(true);
    expect(axis.edges[999]![1]).toBeCloseTo(600);
  });
});

describe("a line", () => {
  const dot = (x: number, y: number) => ({ x, y });

  test("breaks where a value is missing, and a lone point is seen", () => {
    expect(chains([dot(0, 1), dot(1, 2), null, dot(3, 4), null, null])).toEqual([[dot(0, 1), dot(1, 2)], [dot(3, 4)]]);
    expect(pathOf([dot(0, 1), dot(1, 2), null, dot(3, 4)])).toBe("M0.0 1.0L1.0 2.0M3.0 4.0h.1");
    expect(pathOf([])).toBe("");
  });

  test("with more points than pixels keeps first, last and the extremes of every pixel", () => {
    const chain = Array.from({ length: 60_000 }, (_, at) => dot(at / 100, at === 31_415 ? 999 : Math.sin(at)));
    const kept = decimated(chain);
    expect(kept.length).toBeLessThanOrEqual(4 * 601);
    expect(kept).toContainEqual(dot(314.15, 999));
    expect([kept[0], kept[kept.length - 1]]).toEqual([chain[0], chain[59_999]]);
    const xs = kept.map(({ x }) => x);
    expect(xs).toEqual([...xs].sort((a, b) => a - b));
    const columns = (dots: readonly { x: number }[]) => new Set(dots.map(({ x }) => Math.round(x))).size;
    expect(columns(kept)).toBe(columns(chain));
  });

  test("with few points is drawn as it is", () => {
    const chain = [dot(0, 1), dot(10, 5), dot(20, 2)];
    expect(decimated(chain)).toBe(chain);
  });

  test("its range is a closed shape between breaks", () => {
    expect(bandOf([dot(0, 1), dot(5, 1), null, dot(9, 1)], [dot(0, 3), dot(5, 4), null, dot(9, 2)])).toBe(
      "M0.0 1.0L5.0 1.0L5.0 4.0L0.0 3.0Z",
    );
  });
});

describe("the axis of values", () => {
  test("bars start at 0, lines may start higher, and noise looks like noise", () => {
    expect(valueAxis([119, 203], true, 4)).toMatchObject({ low: 0, ticks: [0, 100, 200, 300].slice(0, 4) });
    expect(valueAxis([119, 203], false, 4)).toEqual({ low: 100, high: 203, ticks: [100, 120, 140, 160, 180, 200] });
    const { low, high } = valueAxis([100, 100.4], false, 4);
    expect(high - low).toBeGreaterThanOrEqual(0.2 * 100);
    expect((low + high) / 2).toBeCloseTo(100, -1);
    expect(valueAxis([98, 99.5], false, 4, 100).high).toBe(100);
  });

  test("holds every value, with at most five grid lines", () => {
    for (let most = 0.001; most < 1e9; most *= 3.7) {
      for (const least of [0, 0.3 * most, 0.7 * most, most]) {
        const axis = valueAxis([least, most], false, 4);
        expect(axis.low).toBeLessThanOrEqual(least);
        expect(axis.ticks[0]).toBe(axis.low);
        expect(axis.high).toBeGreaterThanOrEqual(most);
        expect(axis.ticks.length).toBeGreaterThanOrEqual(2);
        expect(axis.ticks.length).toBeLessThanOrEqual(6);
      }
    }
  });

  test("of nothing is an axis still", () => {
    expect(valueAxis([], false, 4)).toEqual({ low: 0, high: 1, ticks: [0] });
    expect(valueAxis([0, 0], true, 2)).toEqual({ low: 0, high: 1, ticks: [0] });
  });
});

test("labels are thinned evenly until none touches the next", () => {
  const labels = Array.from({ length: 40 }, (_, at) => ({ x: 10 * at, text: String(1000 + at) }));
  expect(thinned(labels).map(({ text }) => text)).toEqual([
    "1000",
    "1005",
    "1010",
    "1015",
    "1020",
    "1025",
    "1030",
    "1035",
  ]);
  expect(thinned(labels.slice(0, 1))).toEqual(labels.slice(0, 1));
});

test("the nearest stop is found, and keys move between stops", () => {
  expect([nearest([10, 20, 40], -5), nearest([10, 20, 40], 29), nearest([10, 20, 40], 31), nearest([], 3)]).toEqual([
    0,
    1,
    2,
    null,
  ]);
  expect([
    moved("ArrowRight", null, 3),
    moved("ArrowRight", 2, 3),
    moved("ArrowLeft", null, 3),
    moved("End", 0, 3),
    moved("x", 0, 3),
    moved("Home", 1, 0),
  ]).toEqual([0, 2, 2, 2, undefined, undefined]);
});

test.each([
  [0, 187.9, 5, [0, 50, 100, 150]],
  [0, 177.6, 10, [0, 20, 40, 60, 80, 100, 120, 140, 160]],
  [0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [0, 0.7, 4, [0, 0.2, 0.4, 0.6]],
  [0.3, 0.72, 5, [0.3, 0.4, 0.5, 0.6, 0.7]],
  [-12, 12, 5, [-10, -5, 0, 5, 10]],
  [3, 3, 5, [3]],
])("ticks of %d to %d, at most %d gaps", (low, high, most, at) => {
  expect(ticks(low, high, most)).toEqual(at);
});

test("ticks are multiples of 1, 2 or 5, within the range, and never more than asked", () => {
  for (let high = 0.0013; high < 1e9; high *= 1.37) {
    const at = ticks(0, high, 5);
    const step = at[1]! - at[0]!;
    const digits = step / 10 ** Math.floor(Math.log10(step * (1 + 1e-9)));
    expect([1, 2, 5].some((round) => Math.abs(digits - round) < 1e-6)).toBe(true);
    expect(at.length).toBeLessThanOrEqual(6);
    expect(at[at.length - 1]!).toBeLessThanOrEqual(high * (1 + 1e-9));
  }
});

test.each([2, 3, 4, 5])("an axis from zero ends with a tick at or above the highest value, at most %d gaps", (gaps) => {
  for (let high = 0.0013; high < 1e9; high *= 1.37) {
    const axis = zeroAxis(high, gaps);
    expect(axis.end).toBeGreaterThanOrEqual(high);
    expect(axis.ticks[0]).toBe(0);
    expect(axis.ticks.at(-1)).toBeCloseTo(axis.end, 9);
    expect(axis.ticks.length).toBeLessThanOrEqual(gaps + 1);
  }
  expect(zeroAxis(0, gaps)).toEqual({ end: 1, ticks: [0, 1] });
});
