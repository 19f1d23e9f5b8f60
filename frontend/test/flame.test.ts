import { expect, test } from "vitest";
import { paletteOf } from "../src/charts/canvas/palette";
import { between } from "../src/views/operators/flame/graph";
import {
  frameAt,
  isAbove,
  layoutOf,
  neighbour,
  rowCount,
  spotOf,
  type View,
  walk,
  windowOf,
} from "../src/views/operators/flame/layout";
import { marks } from "../src/views/operators/flame/paint";
import { folded, speedscope } from "../src/views/operators/flame/picture";
import { Pairs, turned, without } from "../src/views/operators/flame/shapes";
import { frameName, frameNamed, marksOf } from "../src/views/operators/flame/stage";
import {
  type Hits,
  hitsOf,
  type Kind,
  largestOf,
  measuresOf,
  numbersIn,
  ownOf,
  type Tree,
  treeOf,
} from "../src/views/operators/flame/tree";
import { FLAME } from "./fixtures/flame";

const DEVICE = treeOf(FLAME, "device");

/** Each frame with its path from the root, and its value in ms. */
const lines = (tree: Tree): string[] => {
  const ways: string[] = [];
  return [...tree.parent].map((parent, at) => {
    const name = tree.names[tree.label[at]!]!;
    ways[at] = parent > 0 ? `${ways[parent]}/${name}` : name;
    return `${ways[at]} ${tree.value[at]! / 1e6}`;
  });
};

/** A tree in which names are ops, except names that begin with "k", which are kernels. */
const drawn = (names: string[], parent: number[], label: number[], value: number[]): Tree => ({
  names,
  kinds: names.map((name, at): Kind => (at === 0 ? "all" : name.startsWith("k") ? "kernel" : "op")),
  parent: Int32Array.from(parent),
  label: Int32Array.from(label),
  value: Float64Array.from(value),
  merged: new Int32Array(parent.length),
  calls: new Int32Array(parent.length).fill(1),
});

/** Op a calls op b. Op b launches k directly, and once more through op c. */
const NESTED = drawn(
  ["all", "a", "b", "c", "k"],
  [-1, 0, 1, 2, 2, 4],
  [0, 1, 2, 4, 3, 4],
  [9, 9, 9, 5, 4, 4].map((ms) => ms * 1e6),
);

test("own values sum to the whole", () => {
  expect([...ownOf(DEVICE)].map((ns) => ns / 1e6)).toEqual([0, 0, 0, 7, 0, 2, 1]);
});

test("columns are read from their texts: signs, large numbers, and none", () => {
  expect([...numbersIn("-1,0,12,9007199254740991")]).toEqual([-1, 0, 12, 9007199254740991]);
  expect([...numbersIn("7")]).toEqual([7]);
  expect([...numbersIn("")]).toEqual([]);
});

test("measures without a value are not offered", () => {
  expect(measuresOf(FLAME)).toEqual(["device", "host"]);
});

test("turned around, what takes the time stands first and its callers under it", () => {
  expect(lines(turned(DEVICE)).sort()).toEqual([
    "(smaller) 2",
    "(smaller)/aten::gelu 2",
    "(smaller)/aten::gelu/train.py(9): step 2",
    "all 10",
    "gemm 7",
    "gemm/aten::linear 7",
    "gemm/aten::linear/train.py(9): step 7",
    "outside recorded ops 1",
  ]);
});

test("callers that lead to one frame in several ways are summed, and calls are those of what takes the time", () => {
  const up = turned(NESTED);
  expect(lines(up)).toEqual(["all 9", "k 9", "k/b 5", "k/c 4", "k/b/a 5", "k/c/b 4", "k/c/b/a 4"]);
  expect([...up.calls]).toEqual([0, 2, 0, 0, 0, 0, 0]);
});

test("callers of what is far below the whole are left out", () => {
  const tiny = drawn(["all", "a", "b", "k"], [-1, 0, 1, 0], [0, 1, 2, 3], [1e6, 2, 2, 1e6 - 2]);
  expect(lines(turned(tiny)).length).toBe(3);
});

test("without some kinds their costs are their callers', frames of one name are one, and sums stay", () => {
  const left = without(NESTED, new Set<Kind>(["op"]));
  expect([...left.label].map((label) => left.names[label])).toEqual(["all", "k"]);
  expect([...left.parent]).toEqual([-1, 0]);
  expect([...left.value]).toEqual([9e6, 9e6]);
  expect([...left.calls]).toEqual([0, 2]);
  const ops = without(NESTED, new Set<Kind>(["kernel"]));
  expect([...ops.value]).toEqual([9e6, 9e6, 9e6, 4e6]);
  expect([...ownOf(ops)]).toEqual([0, 0, 5e6, 4e6]);
  expect(without(NESTED, new Set())).toBe(NESTED);
});

test("pairs have one number each, however many there are", () => {
  const pairs = new Pairs();
  const numbers = Array.from({ length: 5000 }, (_, each) => pairs.number(each % 70, each));
  expect(numbers).toEqual([...numbers.keys()]);
  expect([pairs.number(1, 1), pairs.number(1, 2), pairs.size]).toEqual([1, 5000, 5001]);
});

const layout = layoutOf(DEVICE);
const view = (zoomed: number, width = 100): View => ({
  tree: DEVICE,
  layout,
  zoomed,
  shown: windowOf(layout, zoomed),
  width,
});

/** The frames of each row: those with a box as "frame@left+width", the others as "frame". */
const rows = (seen: View): string[] =>
  Array.from({ length: rowCount(seen.layout) }, (_, row) => {
    const met: string[] = [];
    const wide = (at: number, left: number, right: number) =>
      met.push(`${at}@${Math.round(left)}+${Math.round(right - left)}${isAbove(seen, at) ? " above" : ""}`);
    walk(seen, row, 1, wide, (at) => met.push(`${at}`));
    return met.join(" ");
  });

test("frames stand beside each other, the largest first; those narrower than a pixel are no boxes", () => {
  expect(rows(view(0))).toEqual(["0@0+100", "1@0+90 6@90+10", "2@0+70 4@70+20", "3@0+70 5@70+20"]);
  expect(rows(view(0, 9))).toEqual(["0@0+9", "1@0+8 6", "2@0+6 4@6+2", "3@0+6 5@6+2"]);
  expect(rows(view(4))).toEqual(["0@0+100 above", "1@0+100 above", "4@0+100", "5@0+100"]);
});

test("what is at a place is found in its row", () => {
  const found = (zoomed: number, ...places: [number, number][]) => places.map(([x, y]) => frameAt(view(zoomed), x, y));
  expect(found(0, [95, 20], [95, 40], [75, 60], [69, 40], [70, 40], [5, -1], [5, 400])).toEqual([
    6, -1, 5, 2, 4, -1, -1,
  ]);
  expect(found(4, [0, 60], [99, 60], [50, 20])).toEqual([5, 5, 1]);
  expect(spotOf(view(4), 2)).toBeNull();
  expect(spotOf(view(0), 6)).toEqual({ left: expect.closeTo(90), wide: expect.closeTo(10), top: 19 });
});

test("a saved picture holds all rows, and of frames too narrow for a box how many stand together", () => {
  const palette = paletteOf((token) => (token === "--surface" ? "#ffffff" : "#445566"));
  const seen = { ...view(0, 9), hits: null, palette, top: 0, height: 19 * rowCount(layout) };
  const rects = [...marks(seen).matchAll(/<title>([^<]*)<\/title><rect x="[\d.]+" y="(\d+)" width="([\d.]+)"/g)];
  expect(rects.map(([, name, y, width]) => `${name} ${y} ${width}`)).toEqual([
    "all 0 8",
    "train.py:9 step 19 7.1",
    "1\u00a0narrow frame 19 0.9",
    "aten::linear 38 5.3",
    "aten::gelu 38 1.8",
    "gemm 57 5.3",
    "(smaller) 57 1.8",
  ]);
  const filled = (name: string, hits: Hits | null) =>
    new RegExp(`>${name}</title><rect[^>]* fill="([^"]+)"`).exec(marks({ ...seen, hits }))![1];
  const found = hitsOf(DEVICE, "gelu");
  expect(filled("aten::gelu", found)).toBe(filled("aten::gelu", null));
  // Frames that a search does not find fade.
  expect(filled("aten::linear", found)).not.toBe(filled("aten::linear", null));
  expect(marks({ ...seen, ...view(0, 0.1) }).match(/narrow frame/g)?.length).toBe(4);
});

test("keys lead to the caller, the largest below, and the neighbour that has a box", () => {
  const way = (seen: View, at: number) =>
    ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].map((key) => neighbour(seen, at, key));
  expect(way(view(0), 1)).toEqual([0, 2, 1, 6]);
  expect(way(view(0), 6)).toEqual([0, 6, 1, 6]);
  expect(way(view(4), 4)).toEqual([1, 5, 4, 4]);
  expect(way(view(4), 1)).toEqual([0, 4, 1, 1]);
  expect(neighbour(view(4), -1, "ArrowDown")).toBe(4);
  expect(neighbour(view(0, 9), 1, "ArrowRight")).toBe(1);
});

test("siblings of one size keep their order, however many there are", () => {
  const many = 40;
  const flat = drawn(
    ["all", "a"],
    [-1, ...Array(many).fill(0)],
    [0, ...Array(many).fill(1)],
    [many + 5, 6, ...Array(many - 1).fill(1)],
  );
  const { frame, from } = layoutOf(flat);
  expect([...frame]).toEqual(Array.from({ length: many + 1 }, (_, at) => at));
  expect([from[1], from[2], from[many]]).toEqual([0, 6, many + 4]);
});

test("the picture moves by equal factors around one point", () => {
  const [start, target] = [
    { low: 0, high: 100 },
    { low: 40, high: 41 },
  ];
  const half = between(start, target, 0.5);
  expect(half.high - half.low).toBeCloseTo(10);
  const fixed = (100 * 40) / 99; // the point that does not move
  expect((fixed - half.low) / 10).toBeCloseTo(fixed / 100);
  expect(between(start, { low: 20, high: 120 }, 0.5)).toEqual({ low: 10, high: 110 });
  expect([between(start, target, 0), between(start, target, 1).low]).toEqual([start, 40]);
});

test("the address names a frame by the names on its way, in any measure", () => {
  const names = (tree: Tree) => [...tree.parent.keys()].map((at) => frameName(marksOf(tree), at));
  const host = treeOf(FLAME, "host");
  expect(names(host)).toEqual(names(DEVICE));
  expect(new Set(names(DEVICE)).size).toBe(7);
  const [, , linear, gemm] = names(DEVICE);
  expect(frameNamed(marksOf(DEVICE), DEVICE, linear!)).toBe(2);
  expect(frameNamed(marksOf(DEVICE), DEVICE, gemm!)).toBe(3);
  expect(frameNamed(marksOf(host), host, gemm!)).toBe(0); // gemm has no time on the host
  expect([undefined, "", "nonsense!"].map((name) => frameNamed(marksOf(DEVICE), DEVICE, name))).toEqual([0, 0, 0]);
});

test("a search sums what it finds once", () => {
  const nested: Tree = { ...DEVICE, names: DEVICE.names.map((name) => (name === "gemm" ? "linear gemm" : name)) };
  expect(hitsOf(nested, " LINEAR ")).toMatchObject({ sum: 7e6, frames: 2 });
  expect(hitsOf(DEVICE, "softmax")).toMatchObject({ sum: 0, frames: 0 });
  expect(hitsOf(treeOf(FLAME, "host"), "gemm")).toMatchObject({ sum: 0, frames: 0 });
  expect(hitsOf(DEVICE, "train.py:9 s")).toEqual(hitsOf(DEVICE, "train.py(9): s"));
  expect(hitsOf(DEVICE, "train.py:9 s")!.frames).toBe(1);
  expect(hitsOf(DEVICE, " ")).toBeNull();
});

test("the table has each name once, most of its own first", () => {
  expect(largestOf(DEVICE).map(({ label, own, value }) => [DEVICE.names[label], own / 1e6, value / 1e6])).toEqual([
    ["gemm", 7, 7],
    ["(smaller)", 2, 2],
    ["outside recorded ops", 1, 1],
    ["train.py(9): step", 0, 9],
    ["aten::linear", 0, 7],
    ["aten::gelu", 0, 2],
  ]);
});

test("folded stacks are a line each, with their own time", () => {
  expect(folded(DEVICE)).toBe(
    "train.py(9): step;aten::linear;gemm 7000000\n" +
      "train.py(9): step;aten::gelu;(smaller) 2000000\n" +
      "outside recorded ops 1000000\n",
  );
});

test("speedscope's file has a frame for each name and a weight for each stack", () => {
  const file = JSON.parse(speedscope(DEVICE, "device", "a"));
  expect(file.profiles).toEqual([
    {
      type: "sampled",
      name: "a",
      unit: "nanoseconds",
      startValue: 0,
      endValue: 10_000_000,
      samples: [[2, 3, 4], [2, 5, 1], [6]],
      weights: [7_000_000, 2_000_000, 1_000_000],
    },
  ]);
  expect(file.shared.frames[4]).toEqual({ name: "gemm" });
});
