/** Pictures of Memory: the curve, the blocks of segments, and settings by memory and time. */

import { expect, test } from "vitest";
import type { FitSetting, Strip } from "../src/api.gen";
import { areaOf, type Curve, outlineOf, valuesAt } from "../src/views/memory/charts/memory_chart";
import { placed } from "../src/views/memory/fit/fits";
import { marksOf } from "../src/views/memory/snapshot/segments";

const CURVE: Curve = {
  from: 100,
  to: 140,
  least: [1, 1, 2, 0],
  most: [3, 3, 4, 2],
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

const strip = (sizes: number[], used: boolean[]): Strip => ({
  address: "7f",
  bytes: sizes.reduce((sum, each) => sum + each, 0),
  free_bytes: 0,
  in_use_bytes: 0,
  offset: sizes.map((_, at) => sizes.slice(0, at).reduce((sum, each) => sum + each, 0)),
  size: sizes,
  used,
  line: used.map((each) => (each ? 0 : -1)),
  lines: ["train.py:3"],
});

test("wide blocks stand for themselves, with the line of those in use", () => {
  expect(marksOf(strip([100, 50], [true, false]), 0.1)).toEqual([
    { x: 0, width: 10, use: "used", bytes: 100, blocks: 1, line: "train.py:3" },
    { x: 10, width: 5, use: "free", bytes: 50, blocks: 1, line: null },
  ]);
});

test("narrow blocks stand together until they can be seen", () => {
  expect(marksOf(strip([10, 10, 10, 10], [true, false, true, true]), 0.1)).toEqual([
    { x: 0, width: 2, use: "mixed", bytes: 20, blocks: 2, line: null },
    { x: 2, width: 2, use: "used", bytes: 20, blocks: 2, line: null },
  ]);
});

const setting = (label: string, peak_bytes: number, step_ns: number | null, best: boolean): FitSetting => ({
  label,
  code: null,
  peak_bytes,
  ...{ low_bytes: peak_bytes, high_bytes: peak_bytes, again_ns: null, step_ns, largest: null, best },
  ...{ unknown: null, no_time: null, copied_bytes: null, copy_ns: null },
});

const FRAME = { x: (bytes: number) => bytes, y: (ns: number) => 100 - ns, untimed: 130, right: 300 };

test("a name stands at the right of its point, at its left where there is no room, or nowhere", () => {
  const found = placed(
    [
      setting("As recorded", 290, 50, true),
      setting("Checkpoint every Block", 100, 80, true),
      setting("Checkpoint every Linear", 102, 82, false),
      setting("SGD", 100, null, false),
    ],
    FRAME,
  );
  expect(found.map(({ x, y, label }) => [x, y, label?.end])).toEqual([
    [290, 50, true],
    [100, 20, false],
    [102, 18, undefined],
    [100, 130, false],
  ]);
});
