import { expect, test } from "vitest";
import { folded, speedscope } from "../src/views/operators/flame/files";
import { boxesOf, frameAt, neighbour } from "../src/views/operators/flame/scene";
import {
  hitsOf,
  largestOf,
  layoutOf,
  measuresOf,
  ownOf,
  type Tree,
  treeOf,
  turned,
} from "../src/views/operators/flame/tree";
import { FLAME } from "./fixtures/flame";

const DEVICE = treeOf(FLAME, "device");

/** Each frame by its way from the whole, in ms. */
const lines = (tree: Tree): string[] => {
  const ways: string[] = [];
  return tree.parent.map((parent, at) => {
    const name = tree.names[tree.label[at]!]!;
    ways[at] = parent > 0 ? `${ways[parent]}/${name}` : name;
    return `${ways[at]} ${tree.value[at]! / 1e6}`;
  });
};

test("own values sum to the whole", () => {
  const own = ownOf(DEVICE).map((ns) => ns / 1e6);
  expect(own).toEqual([0, 0, 0, 7, 0, 2, 1]);
});

test("measures without a value are not offered", () => {
  expect(measuresOf(FLAME)).toEqual(["device", "host"]);
});

test("turned around, what takes the time stands first and its callers under it", () => {
  expect(lines(turned(DEVICE))).toEqual([
    "all 10",
    "gemm 7",
    "gemm/aten::linear 7",
    "gemm/aten::linear/train.py(9): step 7",
    "(smaller) 2",
    "(smaller)/aten::gelu 2",
    "(smaller)/aten::gelu/train.py(9): step 2",
    "outside recorded ops 1",
  ]);
});

test("callers that lead to one frame in several ways are summed", () => {
  const twice: Tree = {
    names: ["all", "a", "b", "k"],
    kinds: ["all", "op", "op", "kernel"],
    parent: [-1, 0, 1, 0, 3],
    label: [0, 1, 3, 2, 3],
    value: [5, 2, 2, 3, 3],
    merged: [0, 0, 0, 0, 0],
  };
  const up = turned(twice);
  expect(up.label.map((label, at) => [up.names[label], up.value[at]])).toEqual([
    ["all", 5],
    ["k", 5],
    ["a", 2],
    ["b", 3],
  ]);
});

test("frames stand side by side, the largest first, none narrower than a pixel", () => {
  const scene = { tree: DEVICE, layout: layoutOf(DEVICE), zoomed: 0, width: 100 };
  const whole = boxesOf(scene);
  const boxes = whole.map(({ at, left, wide }) => [at, Math.round(left), Math.round(wide)]);
  expect(boxes).toEqual([
    [0, 0, 100],
    [1, 0, 90],
    [6, 90, 10],
    [2, 0, 70],
    [4, 70, 20],
    [3, 0, 70],
    [5, 70, 20],
  ]);
  expect(boxesOf({ ...scene, width: 9 }).map(({ at }) => at)).not.toContain(6);
  expect([frameAt(whole, 95, 20), frameAt(whole, 95, 40), frameAt(whole, 75, 60)]).toEqual([6, -1, 5]);
  const zoomed = { ...scene, zoomed: 4, at: 4, boxes: boxesOf({ ...scene, zoomed: 4 }) };
  expect(zoomed.boxes.map(({ at, wide }) => [at, Math.round(wide)])).toEqual([
    [0, 100],
    [1, 100],
    [4, 100],
    [5, 100],
  ]);
  expect([neighbour(zoomed, "ArrowDown"), neighbour(zoomed, "ArrowUp"), neighbour(zoomed, "ArrowLeft")]).toEqual([
    5, 1, 4,
  ]);
});

test("a search sums what it finds once", () => {
  const nested: Tree = { ...DEVICE, names: DEVICE.names.map((name) => (name === "gemm" ? "linear gemm" : name)) };
  expect(hitsOf(nested, " LINEAR ")).toMatchObject({ sum: 7e6, frames: 2 });
  expect(hitsOf(DEVICE, "softmax")).toMatchObject({ sum: 0, frames: 0 });
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
