import { expect, test } from "vitest";
import { csv } from "../src/components/data_table";
import { onlyThis, toggled } from "../src/components/legend";
import { type Column, sorted } from "../src/components/table";
import { rowWindow } from "../src/dom/rows";
import { matching } from "../src/frame/picker";

const COLUMNS: Column<[string, number | null]>[] = [
  { id: "name", label: "Name", cell: ([name]) => name, order: ([name]) => name },
  { id: "time", label: "Time", cell: ([, time]) => time, order: ([, time]) => time },
];
const ROWS: [string, number | null][] = [
  ["step 10", 2],
  ["step 9", null],
  ["step 1", 2],
  ["step 2", 7],
];
const names = (sort: string | undefined) => sorted(ROWS, COLUMNS, sort).map(([name]) => name);

test("rows sort by number and by the numbers in names; equal rows keep their order, unknown ones come last", () => {
  expect(names("name")).toEqual(["step 1", "step 2", "step 9", "step 10"]);
  expect(names("time")).toEqual(["step 10", "step 1", "step 2", "step 9"]);
  expect(names("-time")).toEqual(["step 2", "step 10", "step 1", "step 9"]);
  expect(names(undefined)).toEqual(["step 10", "step 9", "step 1", "step 2"]);
});

test("of 100 000 rows only those visible are drawn, and the rest is space of the right height", () => {
  const window = rowWindow(100_000, 26, 26_000, 520);
  expect(window).toEqual({ first: 992, end: 1028, above_px: 992 * 26, below_px: (100_000 - 1028) * 26 });
  expect(rowWindow(3, 26, 0, 520)).toEqual({ first: 0, end: 3, above_px: 0, below_px: 0 });
  expect(rowWindow(0, 26, 900, 520)).toEqual({ first: 0, end: 0, above_px: 0, below_px: 0 });
});

test("a CSV holds raw figures, quotes what needs it, and no cell that a spreadsheet would run", () => {
  const table = {
    columns: [{ label: "Kernel" }, { label: "Time", unit: "ns" as const }],
    rows: [
      ['a,"b"', 5],
      ["=1+1", null],
      ["-x", 0],
    ],
  };
  expect(csv(table)).toBe('Kernel,Time (ns)\r\n"a,""b""",5\r\n\'=1+1,\r\n\'-x,0\r\n');
});

test("a search finds every word, in any order and case", () => {
  const entries = ["runs/ResNet50 fp16", "runs/resnet18", "bert"].map((label) => ({ id: label, label, aside: "" }));
  expect(matching(entries, "50 RES").map(({ id }) => id)).toEqual(["runs/ResNet50 fp16"]);
  expect(matching(entries, " ")).toEqual(entries);
});

test("a part is hidden and shown again; alone, and all again", () => {
  const ids = ["kernel", "data", "cpu"];
  expect(toggled("data", new Set(["cpu"]))).toEqual(new Set(["cpu", "data"]));
  expect(toggled("data", new Set(["data"]))).toEqual(new Set());
  expect(onlyThis("data", ids, new Set())).toEqual(new Set(["kernel", "cpu"]));
  expect(onlyThis("data", ids, new Set(["kernel", "cpu"]))).toEqual(new Set());
});
