/** The blocks of a segment as marks. */

import { expect, test } from "vitest";
import { marksOf, type StripBlocks } from "../src/views/memory/charts/strip_rows";

const strip = (sizes: readonly number[], used: readonly boolean[]): StripBlocks => ({
  address: "7f",
  bytes: sizes.reduce((sum, each) => sum + each, 0),
  free_bytes: 0,
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
