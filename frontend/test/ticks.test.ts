import { expect, test } from "vitest";
import { ticks, zeroAxis } from "../src/charts/axes/ticks";

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
