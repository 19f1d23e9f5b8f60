import { describe, expect, test } from "vitest";
import { fittingLines } from "../src/views/compare/charts/chain_columns";
import { fallAxis, levelsOf } from "../src/views/compare/charts/waterfall";

const fall = (change: number, low: number | null = null, high: number | null = null) => ({ change, low, high });

describe("a waterfall", () => {
  test("each bar begins where the one before ended, and the last ends at the candidate", () => {
    expect(levelsOf(100, [fall(-40, -45, -38), fall(10)])).toEqual([
      { from: 100, to: 60, low: 55, high: 62 },
      { from: 60, to: 70, low: null, high: null },
    ]);
  });

  test("begins at 0 where what changes is seen, and above it where it would not be", () => {
    const large = levelsOf(100, [fall(-40)]);
    expect(fallAxis([100, 60], large).low).toBe(0);
    const small = levelsOf(100, [fall(-2, -6, 3)]);
    const axis = fallAxis([100, 98], small);
    expect(axis.low).toBeGreaterThan(80);
    expect(axis.low).toBeLessThan(94);
    expect(axis.high).toBeGreaterThan(103);
    expect(axis.ticks.every((tick) => tick >= axis.low && tick <= axis.high)).toBe(true);
  });

  test("nothing changed: an axis all the same", () => {
    expect(fallAxis([100, 100], [])).toMatchObject({ low: 0, high: 100 });
  });
});

describe("lines above columns", () => {
  const columns = [
    [["100.0 ms", "100"], ["first"]],
    [["70.0 ms", "70"], ["-32.0 to -28.0 ms"]],
  ];

  test("are as long as all columns have room for", () => {
    expect(fittingLines(columns, 300)).toEqual([
      ["100.0 ms", "first"],
      ["70.0 ms", "-32.0 to -28.0 ms"],
    ]);
  });

  test("are shortened in all columns alike, and left out where nothing is short enough", () => {
    expect(fittingLines(columns, 40)).toEqual([["100"], ["70"]]);
  });
});
