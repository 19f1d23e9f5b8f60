import { expect, test } from "vitest";
import { niceEnd, ticks } from "../src/charts/axes/ticks";

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

test("ticks are multiples of 1, 2, 2.5 or 5, within the range, and never more than asked", () => {
  for (let high = 0.0013; high < 1e9; high *= 1.37) {
    const at = ticks(0, high, 5);
    const pace = at[1]! - at[0]!;
    const digits = pace / 10 ** Math.floor(Math.log10(pace * (1 + 1e-9)));
    expect([1, 2, 2.5, 5].some((nice) => Math.abs(digits - nice) < 1e-6)).toBe(true);
    expect(at.length).toBeLessThanOrEqual(6);
    expect(at[at.length - 1]!).toBeLessThanOrEqual(high * (1 + 1e-9));
  }
});

test("the end of an axis is the next tick", () => {
  expect([niceEnd(187.9), niceEnd(200), niceEnd(0.31), niceEnd(0)]).toEqual([200, 200, 0.4, 1]);
});
