import { describe, expect, test } from "vitest";
import type { SpanHead } from "../src/api.gen";
import { scaleFor, share } from "../src/format";
import { differing } from "../src/frame/comparison";
import { fittingLines } from "../src/views/compare/chain_picture";
import { differenceColumn } from "../src/views/compare/compared_columns";
import { differenceOf, differenceTitle, pairsOf, signed } from "../src/views/compare/difference";
import { PartDifferences } from "../src/views/compare/parts";
import { fallAxis, legible, levelsOf } from "../src/views/compare/step_waterfall";
import { HEAD, TAB } from "./fixtures/pages";
import { words } from "./fixtures/words";

const MS = 1_000_000;
const NAMES = { own: "amp", name: "baseline" };
const part = (id: string, ns: number) => ({ id, label: id, colour: "cpu", hatched: false, ns });

describe("the parts of two mean steps", () => {
  test("stand in the order of the chosen span, those that only the other has at the end", () => {
    const own = [part("kernel", 60), part("copy", 0), part("data", 5)];
    const other = [part("sync", 7), part("kernel", 70), part("copy", 0)];
    expect(pairsOf(own, other).map(({ id, own_ns, other_ns }) => [id, own_ns, other_ns])).toEqual([
      ["kernel", 60, 70],
      ["data", 5, 0],
      ["sync", 0, 7],
    ]);
  });

  test("differ by what the steps differ, to the ns, whatever the parts are", () => {
    let state = 7;
    const draw = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    const drawn = () =>
      ["a", "b", "c", "d", "e"].flatMap((id) => (draw(3) === 0 ? [] : [part(id, draw(4) === 0 ? 0 : draw(9e8))]));
    const sum = (parts: readonly { ns: number }[]) => parts.reduce((total, { ns }) => total + ns, 0);
    for (let round = 0; round < 500; round++) {
      const [own, other] = [drawn(), drawn()];
      const differences = pairsOf(own, other).map(differenceOf);
      expect(differences.reduce((total, each) => total + each, 0)).toBe(sum(own) - sum(other));
    }
  });

  test("as a table with its sum, in both figures, ms and shares of the other's step", () => {
    const parts = pairsOf(
      [part("kernel", 98 * MS), part("data", 2 * MS)],
      [part("kernel", 100 * MS), part("data", 60 * MS)],
    );
    const page = words(
      <PartDifferences {...NAMES} parts={parts} own_ns={100 * MS} other_ns={160 * MS} file="" tab={TAB} />,
    );
    expect(page).toContain("A step of amp takes 60.0 ms (38 %) less than one of baseline");
    expect(page).toContain("|Part|baseline|amp|Difference|Of the step|");
    expect(page).toContain("|kernel|100.0 ms|98.0 ms|-2.0 ms|-1.3 %|data|60.0 ms|2.0 ms|-58.0 ms|-36.3 %|");
    expect(page).toContain("|Step|160.0 ms|100.0 ms|-60.0 ms|-37.5 %|");
  });

  test("steps of one length are not called longer or shorter", () => {
    expect(differenceTitle(NAMES, 1000, 1002, share)).toBe("A step of amp takes as long as one of baseline");
    expect(differenceTitle(NAMES, 120 * MS, 100 * MS, share).replaceAll("\u00a0", " ")).toBe(
      "A step of amp takes 20.0 ms (20 %) more than one of baseline",
    );
  });
});

test("a row says how much more it takes a step than the same row of the other span, where that has it", () => {
  const row = (name: string, total: number) => ({ name, total });
  const column = differenceColumn({
    rows: [row("gemm", 40 * MS), row("copy", 4 * MS)],
    others: [row("gemm", 30 * MS)],
    keyOf: ({ name }) => name,
    ns: ({ total }) => total,
    steps: [4, 2],
    ...NAMES,
  });
  expect([row("gemm", 40 * MS), row("copy", 4 * MS)].map(column.order!)).toEqual([-5 * MS, null]);
  expect(words(<p>{column.cell!(row("gemm", 40 * MS), "", String)}</p>)).toBe("|-5.0 ms|");
  expect(words(<p>{column.cell!(row("copy", 4 * MS), "", String)}</p>)).toBe("|–|");
  expect(signed(0, scaleFor(MS, "ns")).replace("\u00a0", " ")).toBe("0 ms");
});

describe("what keeps two spans from being compared", () => {
  const against = (more: Partial<SpanHead>) => differing(HEAD, { ...HEAD, ...more }, { own: "a", name: "b" });

  test("nothing, where they are alike", () => expect(against({})).toEqual([]));

  test.each<[string, Partial<SpanHead>, RegExp]>([
    ["a trace of the CPU alone", { device_names: [] }, /^Only a recorded a GPU, b recorded the CPU alone/],
    ["another GPU", { device_names: ["NVIDIA A100"] }, /^a ran on Tesla V100, b on NVIDIA A100: times differ/],
    ["more GPUs", { device_names: ["Tesla V100", "Tesla V100"] }, /^a records 1.GPU, b 2.GPUs\.$/],
    ["more ranks", { world_size: 8 }, /^a has 1.rank, b 8.ranks/],
    [
      "steps by other means",
      { steps_by: "inferred" },
      /^Steps of a are marked by the profiler, those of b are inferred/,
    ],
    ["a simulation", { simulated: "by a simulator" }, /^b is simulated, a is recorded\.$/],
  ])("%s", (_, more, expected) => {
    expect(against(more)).toEqual([expect.stringMatching(expected)]);
  });
});

const fall = (change: number, low: number | null = null, high: number | null = null) => ({ change, low, high });

describe("a waterfall", () => {
  test("each bar begins where the one before ended, and the last ends at the candidate", () => {
    expect(levelsOf(100, [fall(-40, -45, -38), fall(10)])).toEqual([
      { from: 100, to: 60, low: 55, high: 62 },
      { from: 60, to: 70, low: null, high: null },
    ]);
  });

  test("labels only as many ticks as have room side by side, at equal distances, the last with the unit", () => {
    const labels = (width: number) =>
      legible([0, 5, 10, 15, 20], (value) => (value / 20) * width, "ms").map(({ text }) => text.replace("\u00a0", " "));
    expect([600, 80, 40, 5].map(labels)).toEqual([
      ["0", "5", "10", "15", "20 ms"],
      ["0", "10", "20 ms"],
      ["0", "20 ms"],
      ["20 ms"],
    ]);
  });

  test("begins at 0 where what changes is seen, and above it where it would not be", () => {
    const large = levelsOf(100, [fall(-40)]);
    expect(fallAxis([100, 60], large).low).toBe(0);
    const small = levelsOf(100, [fall(-2, -6, 3)]);
    const axis = fallAxis([100, 98], small);
    expect(axis.low).toBeGreaterThan(80);
    expect(axis.low).toBeLessThan(94);
    expect(axis.high).toBeGreaterThan(103);
    expect(axis.ticks.every((tick) => tick >= axis.low && tick <= axis.high)).toBe(true);
  });

  test("nothing changed: an axis all the same", () => {
    expect(fallAxis([100, 100], [])).toMatchObject({ low: 0, high: 100 });
  });
});

describe("lines above columns", () => {
  const columns = [
    [["100.0 ms", "100"], ["first"]],
    [["70.0 ms", "70"], ["-32.0 to -28.0 ms"]],
  ];

  test("are as long as all columns have room for", () => {
    expect(fittingLines(columns, 300)).toEqual([
      ["100.0 ms", "first"],
      ["70.0 ms", "-32.0 to -28.0 ms"],
    ]);
  });

  test("are shortened in all columns alike, and left out where nothing is short enough", () => {
    expect(fittingLines(columns, 40)).toEqual([["100"], ["70"]]);
  });
});
