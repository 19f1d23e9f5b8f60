import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test } from "vitest";
import { rangeInTimeline } from "../../src/address/selection";
import type { OperatorDetail, OperatorsResult } from "../../src/api.gen";
import { OpDetails } from "../../src/views/operators/detail";
import { TAB } from "../fixtures/pages";
import { rowsOf } from "./fake_server";

const LONGEST = { step: "6", start_ns: 40_000, end_ns: 90_000 };

const DETAIL = {
  name: "aten::addmm",
  lengths: { edges_ns: [10_000, 30_000, 50_000], count: [3, 1] },
  calls: { bin_ns: 50_000, count: [3, 1], busy_ns: [30_000, 50_000] },
  longest: LONGEST,
  kernels: [{ name: "ampere_gemm", short: "gemm", count: 4, total_ns: 60_000 }],
  more_kernels: 0,
} as unknown as OperatorDetail;

const table = (by: string, keys: readonly string[]) => ({
  by,
  where: "ran",
  rows: keys.map((key, at) => ({ name: "aten::addmm", key, calls: 4 - 2 * at, device_self_ns: 45_000 - 30_000 * at })),
});

const RESULT = {
  start_ns: 0,
  end_ns: 100_000,
  has_device: true,
  steps: [
    { name: "5", start_ns: 0, end_ns: 40_000 },
    { name: "6", start_ns: 40_000, end_ns: 100_000 },
  ],
  steps_ns: 100_000,
  recorded: { ops: true, shapes: true, stacks: true, modules: false, backward: false },
  tables: [
    { by: "name", where: "ran", rows: [{ name: "aten::addmm", key: null, calls: 8, device_self_ns: 60_000 }] },
    table("shape", ["[[8],[4,2]]", "[[1],[4,2]]"]),
    table("stack", ["net.py(4): f;train.py(9): step"]),
  ],
  details: [DETAIL],
} as unknown as OperatorsResult;

const show = (op = "aten::addmm") => {
  const requests: unknown[] = [];
  const tab = { ...TAB, update: (changes: unknown) => requests.push(changes) };
  const close = () => requests.push("closed");
  render(<OpDetails op={op} close={close} result={RESULT} titles={{}} tab={tab} name="a" compared={null} />);
  return requests;
};

test("an op leads to its longest call in the Timeline and to its kernels", () => {
  const requests = show();
  for (const name of ["Longest call in the Timeline", "Its kernels in the GPU view", "Close"])
    fireEvent.click(screen.getByRole("button", { name }));
  expect(requests).toEqual([
    rangeInTimeline(LONGEST),
    { view: "gpu", by: "name,op", kernel: '"aten::addmm"', opened: null },
    "closed",
  ]);
});

test("an op shows its calls over the span, its kernels, and its shapes and stacks with their shares", () => {
  show();
  const heads = screen.getAllByRole("heading").map((head) => head.textContent?.replaceAll("\u00a0", " "));
  expect(heads).toEqual([
    "aten::addmm",
    "A call takes 10 µs to 50 µs",
    "The host is in it for 80.0 % of the span",
    "It launches 1 kernel",
    "By shapes",
    "By call stack",
  ]);
  expect(rowsOf("Shapes of the chosen op")).toEqual(["[8] [4, 2]|4|75.0 %", "[1] [4, 2]|2|25.0 %"]);
  expect(rowsOf("Call stack of the chosen op")).toEqual(["net.py:4 f < train.py:9 step|4|75.0 %"]);
  expect(screen.getAllByText(/in rows that are not listed$/).map((element) => element.textContent)).toEqual([
    expect.stringMatching(/^25.0.% in/),
  ]);
});

test("an op whose calls are not kept says so", () => {
  show("aten::mul");
  expect(screen.getByText(/Single calls are kept for the 1.op with most time/)).toBeTruthy();
});
