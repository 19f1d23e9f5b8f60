import { expect, test } from "vitest";
import { crowdOf, lineIn, nearestAt, valueIn, valuesAt } from "../src/charts/lines/crowd";

const line = (key: string, stops: number[], values: number[]) => ({
  key,
  name: key,
  stops: Int32Array.from(stops),
  values: Float64Array.from(values),
});

test("lines by stop: what is known there, and which line is nearest", () => {
  const crowd = crowdOf([line("a", [0, 1, 2], [5, Number.NaN, 7]), line("b", [1, 2], [8, 9])], 4);
  expect([0, 1, 2, 3, 4].map((stop) => [...valuesAt(crowd, stop)])).toEqual([[5], [8], [7, 9], [], []]);
  const to = (height: number) => (value: number) => Math.abs(value - height);
  expect([7.9, 8.1].map((height) => nearestAt(crowd, 2, to(height)))).toEqual(["a", "b"]);
  expect(nearestAt(crowd, 3, to(0))).toBeNull();
  expect([valueIn(crowd, "b", 2), valueIn(crowd, "b", 0)]).toEqual([9, null]);
  expect(lineIn(crowd, "a")!.points).toEqual([{ stop: 0, value: 5 }, null, { stop: 2, value: 7 }]);
  expect(lineIn(crowd, null)).toBeUndefined();
});
