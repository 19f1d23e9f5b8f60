import { expect, test } from "vitest";
import { contrast, paletteOf } from "../src/charts/canvas/palette";
import {
  bandAt,
  bandsOf,
  cellOf,
  gridLayout,
  itemsOf,
  LEVELS,
  levelOf,
  levelsOf,
  type Matrix,
  meanOf,
  rampOf,
  shownValues,
} from "../src/views/ranks/charts/cells";

const matrix = (...rows: number[][]): Matrix => ({
  rows: rows.length,
  columns: rows[0]!.length,
  values: Float64Array.from(rows.flat()),
});

test("few ranks have a row each; many share rows of a power of two, none lower than 4 px", () => {
  expect(gridLayout(8, 100, 100, 900)).toEqual({
    rows: { count: 8, size: 1, px: 22 },
    columns: { count: 100, size: 1, px: 8 },
    left: 100,
    width: 800,
    height: 176,
  });
  expect(gridLayout(1024, 100, 100, 900).rows).toEqual({ count: 64, size: 16, px: 5 });
  expect(gridLayout(85, 2000, 100, 900)).toMatchObject({ rows: { count: 85, size: 1, px: 4 }, columns: { size: 8 } });
});

test("every item is in one band, in its order", () => {
  const bands = bandsOf(1000, 340, 4, 22);
  const items = Array.from({ length: bands.count }, (_, band) => itemsOf(bands, band, 1000));
  expect(items[0]).toEqual([0, 16]);
  expect(items.at(-1)).toEqual([992, 1000]);
  expect(items.every(([from], at) => at === 0 || from === items[at - 1]![1])).toBe(true);
});

test("a pointer beyond the cells is at none", () => {
  const bands = bandsOf(3, 100, 4, 20);
  expect([-1, 0, 19.9, 20, 59, 60].map((px) => bandAt(bands, px))).toEqual([null, 0, 0, 1, 2, null]);
});

/** With rows 4 px high, 170 ranks share 85 rows. */
const MANY = matrix(...Array.from({ length: 170 }, (_, rank) => [rank, rank === 3 ? Number.NaN : 10, Number.NaN]));

test("a cell of several ranks shows the worst of them, and is missing only where all are", () => {
  const order = Array.from({ length: 170 }, (_, rank) => rank);
  const layout = gridLayout(170, 3, 0, 900);
  const most = shownValues(MANY, order, layout, "most");
  expect([...most.slice(0, 6)]).toEqual([1, 10, Number.NaN, 3, 10, Number.NaN]);
  expect(shownValues(MANY, order, layout, "least")[3]).toBe(2);
  expect(cellOf(MANY, order, layout, 1, 0)).toEqual({
    rows: [2, 3],
    columns: [0, 1],
    least: 2,
    middle: 2.5,
    most: 3,
    leastRow: 2,
    mostRow: 3,
    missing: 0,
  });
  expect(cellOf(MANY, order, layout, 1, 1)).toMatchObject({ most: 10, mostRow: 2, missing: 1 });
  expect(cellOf(MANY, order, layout, 1, 2)).toMatchObject({ most: null, mostRow: -1, missing: 2 });
});

test("another order of the rows puts other ranks together", () => {
  const order = Array.from({ length: 170 }, (_, rank) => 169 - rank);
  const layout = gridLayout(170, 3, 0, 900);
  expect(cellOf(MANY, order, layout, 0, 0)).toMatchObject({ rows: [169, 168], mostRow: 169 });
});

test("values that are close begin above 0, and noise does not fill the scale", () => {
  expect(levelsOf(matrix([200, 204, 200]))).toEqual({ low: 181.6, high: 222.4, below: false, above: false });
  expect(levelOf(202, levelsOf(matrix([202, 202])))).toBe(LEVELS / 2);
  expect(levelsOf(matrix([20, 204]))).toEqual({ low: 0, high: 204, below: false, above: false });
  expect(levelsOf(matrix([Number.NaN, Number.NaN]))).toMatchObject({ low: 0, high: 1 });
  expect(levelsOf(matrix([0, 0]))).toMatchObject({ low: 0, high: 1 });
});

test("what is small against the step looks small", () => {
  expect(levelsOf(matrix([0, 3]), 20)).toEqual({ low: 0, high: 20, below: false, above: false });
});

test("of many values a freak is outside of the scale, which says so", () => {
  const steps = Array.from({ length: 400 }, (_, step) => (step === 7 ? 9_000 : step % 50));
  const levels = levelsOf(matrix(steps));
  expect(levels).toEqual({ low: 0, high: 49, below: false, above: true });
  expect([0, 49, 9_000].map((value) => levelOf(value, levels))).toEqual([0, LEVELS - 1, LEVELS - 1]);
});

test("the mean of ranks leaves out what was not measured", () => {
  expect(meanOf(MANY, [3])).toBe(3);
  expect(meanOf(matrix([Number.NaN]), [0])).toBeNull();
});

const LIGHT = { "--surface": "#ffffff", "--sunken": "#f4f4f2", "--ink": "#1d1d1b", "--c-kernel": "#5289c7" };
const DARK = { "--surface": "#303030", "--sunken": "#3b3b3b", "--ink": "#f2f2f0", "--c-kernel": "#6699cc" };

test.each([LIGHT, DARK])("lightness alone orders the levels, in either theme", (tokens: Record<string, string>) => {
  const ramp = rampOf(
    paletteOf((token) => tokens[token] ?? "#888888"),
    "kernel",
  );
  const apart = ramp.map((level) => contrast(level, tokens["--sunken"]!));
  expect(ramp).toHaveLength(LEVELS);
  expect(apart.every((each, at) => each > (apart[at - 1] ?? 1.05))).toBe(true);
  expect(apart.at(-1)).toBeGreaterThan(5);
});
