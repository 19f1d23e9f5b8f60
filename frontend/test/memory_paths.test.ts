import { expect, test } from "vitest";
import { areaOf, type Curve, outlineOf, valuesAt } from "../src/views/memory/charts/memory_chart";

const CURVE: Curve = {
  from: 100,
  to: 140,
  least: [1, 1, 2, 0],
  most: [3, 3, 4, 2],
  reservedLeast: [],
  reservedMost: [],
};
const PLACE = { x: (ns: number) => ns - 100, y: (bytes: number) => 10 - bytes, foot: 10 };

test("bins of one height are one step of the line", () => {
  expect(outlineOf(CURVE, CURVE.most, PLACE)).toBe("M0.0 7.0V7.0H20.0V6.0H30.0V8.0H40.0");
  expect(areaOf(CURVE, CURVE.least, PLACE)).toBe("M0.0 10V9.0H20.0V8.0H30.0V10.0H40.0V10z");
});

test("without bins nothing is drawn", () => {
  expect([areaOf(CURVE, [], PLACE), outlineOf(CURVE, [], PLACE)]).toEqual(["", ""]);
});

test("an instant has the values of its bin, and none beyond the ends", () => {
  expect(valuesAt(CURVE, 129)).toEqual({ least: 2, most: 4, reserved: null });
  expect(valuesAt(CURVE, 140)).toEqual({ least: null, most: null, reserved: null });
});
