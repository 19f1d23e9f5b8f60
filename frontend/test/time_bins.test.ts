import { expect, test } from "vitest";
import { aggregates, byLevel, knownRanges, meanWithin } from "../src/charts/time/time_bins";

const BINS = { start: 0, bin: 10, values: [1000, 0, null, 500] };

test("where there is room every bin is drawn", () => {
  expect(aggregates(BINS, 0, 40, 100)).toEqual([
    { from: 0, to: 10, value: 1000 },
    { from: 10, to: 20, value: 0 },
    { from: 20, to: 30, value: null },
    { from: 30, to: 40, value: 500 },
  ]);
});

test("with more bins than pixels an aggregate is the mean over its time, and the unknown does not count", () => {
  expect(aggregates(BINS, 0, 40, 2)).toEqual([
    { from: 0, to: 20, value: 500 },
    { from: 20, to: 40, value: 500 },
  ]);
  expect(aggregates(BINS, 0, 60, 4).map(({ value }) => value)).toEqual([2000 / 3, 0, 500]);
});

test("a zoomed row shows the bins within the window, cut at its edges", () => {
  expect(aggregates(BINS, 5, 25, 100)).toEqual([
    { from: 5, to: 10, value: 1000 },
    { from: 10, to: 20, value: 0 },
    { from: 20, to: 25, value: null },
  ]);
  expect(aggregates(BINS, 50, 90, 100)).toEqual([]);
});

test("aggregates keep the whole: their means weighed by their length are the mean of the bins", () => {
  const values = Array.from({ length: 440 }, (_, at) => (at * 7919) % 1001);
  const bins = { start: 0, bin: 13, values };
  for (const most of [1, 7, 100, 439, 440, 2000]) {
    const all = aggregates(bins, 0, 440 * 13, most);
    expect(all.length).toBeLessThanOrEqual(Math.max(most, 440) + 1);
    const sum = all.reduce((total, { from, to, value }) => total + (to - from) * value!, 0);
    expect(sum / (440 * 13)).toBeCloseTo(meanWithin(bins, 0, 440 * 13)!, 6);
  }
});

test("the mean of a range without any value is unknown", () => {
  expect([meanWithin(BINS, 20, 30), meanWithin(BINS, 5, 15), meanWithin(BINS, 25, 35)]).toEqual([null, 500, 500]);
});

test("neighbours of one level are one range; little is drawn, and nothing for 0 or what is unknown", () => {
  const all = aggregates({ start: 0, bin: 1, values: [1000, 980, 10, null, 1000, 240, 0] }, 0, 7, 100);
  expect([...byLevel(all, 10, 1000)]).toEqual([
    [10, [range(0, 2), range(4, 5)]],
    [1, [range(2, 3)]],
    [2, [range(5, 6)]],
  ]);
  expect(knownRanges(all)).toEqual([range(0, 3), range(4, 7)]);
});

const range = (from: number, to: number) => ({ from, to });
