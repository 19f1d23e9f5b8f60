import { expect, test } from "vitest";
import { stripEnd } from "../src/views/trends/heatmap_picture";

test("runs that are far longer than all others go on beyond the axis", () => {
  expect(stripEnd([10, 12, 100])).toBe(12);
  expect(stripEnd([30, 12, 121])).toBe(30);
  expect(stripEnd([10, 10, 100, 90, 12, 13, 10, 10])).toBe(13);
});

test("the axis goes to the end of the longest where that is not far, is in focus, or where many are as long", () => {
  expect(stripEnd([10, 12, 48])).toBeNull();
  expect(stripEnd([100, 12, 10])).toBeNull();
  expect(stripEnd([10, 100, 100, 12])).toBeNull();
  expect(stripEnd([10])).toBeNull();
  expect(stripEnd([])).toBeNull();
  expect(stripEnd([0, 5])).toBeNull();
});
