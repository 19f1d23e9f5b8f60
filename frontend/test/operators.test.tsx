import { describe, expect, test } from "vitest";
import { WHOLE_RECORDING } from "../src/address/selection";
import type { ModuleRow, OperatorRow, OperatorsResult, PageOf } from "../src/api.gen";
import { comparedModules, comparedOps } from "../src/views/operators/compared";
import { linesOf, openAtFirst } from "../src/views/operators/module_lines";
import { tensorText } from "../src/views/operators/op_table";
import { Operators } from "../src/views/operators/operators";
import {
  groupingOf,
  groupingsOf,
  knowsWhere,
  matching,
  restOf,
  shapesText,
  shortKey,
  tableOf,
} from "../src/views/operators/tables";
import type { Tab } from "../src/views/props";
import { Middle } from "../src/views/table_picture";
import { all } from "./fixtures/all";
import { AROUND, plain, TAB } from "./fixtures/pages";
import { hintsOf, rowsOf, words } from "./fixtures/words";

const row = (name: string, device: number, more: Partial<OperatorRow> = {}): OperatorRow => ({
  name,
  key: null,
  calls: 4,
  host_total_ns: 30e6,
  host_self_ns: 10e6,
  runtime_ns: 2e6,
  device_total_ns: device,
  device_self_ns: device,
  launches: 8,
  idle_ns: 1e6,
  kernel_ns: device,
  tensor_ns: 0,
  unknown_ns: 0,
  allocated_bytes: null,
  allocated_self_bytes: null,
  ...more,
});

const ROWS = [row("aten::addmm", 20e6), row("aten::mul", 6e6), row("aten::linear", 0, { kernel_ns: 0 })];
const NO_REST = { rows: 0, calls: 0, host_self_ns: 0, runtime_ns: 0, device_self_ns: null, allocated_self_bytes: null };

const module = (name: string, parent: number, more: Partial<ModuleRow> = {}): ModuleRow => ({
  name,
  parent,
  instances: 1,
  occurrences: 2,
  host_total_ns: 8e6,
  host_self_ns: 2e6,
  python_ns: 1e6,
  ...all(0, "backward_host_ns backward_device_ns idle_ns unknown_ns"),
  device_total_ns: 12e6,
  device_self_ns: 1e6,
  launches: 3,
  kernel_ns: 12e6,
  tensor_ns: 6e6,
  ...all(null, "allocated_bytes allocated_self_bytes backward_allocated_bytes"),
  slowest_ns: 7e6,
  ...more,
});

const FOLDED = [
  module("Net", -1),
  module("Layer", 0, { instances: 12, occurrences: 24 }),
  module("Linear", 1, { instances: 36, occurrences: 72 }),
  module("Head", 0),
];

const RESULT: OperatorsResult = {
  start_ns: 0,
  end_ns: 200e6,
  steps: [
    { name: "5", start_ns: 0, end_ns: 100e6 },
    { name: "6", start_ns: 100e6, end_ns: 200e6 },
  ],
  steps_ns: 200e6,
  has_device: true,
  recorded: { ops: true, shapes: true, stacks: false, modules: true, backward: true },
  tables: [
    { by: "name", where: "ran", rows: ROWS, rest: { ...NO_REST, rows: 5, calls: 50, device_self_ns: 3e6 } },
    { by: "shape", where: "ran", rows: [row("aten::addmm", 20e6, { key: "[[8],[4,2],[]]" })], rest: NO_REST },
    { by: "name", where: "made", rows: ROWS.slice(0, 1), rest: NO_REST },
  ],
  outside: { launches: 0, device_ns: 0 },
  outside_modules: { device_ns: 5e6, allocated_bytes: null },
  details: [],
  folded: FOLDED,
  modules: FOLDED,
  more_modules: 0,
  lines: null,
};

const page: PageOf<"operators"> = {
  ...AROUND,
  titles: {
    operators: plain("aten::addmm takes 77 % of the GPU's work"),
    modules: plain("The 36 Linear modules take 40 % of the modules' forward pass"),
    no_stacks: plain("Lines and call stacks are not recorded."),
  },
  result: RESULT,
};

const tab = (state: Tab["state"] = {}): Tab => ({
  ...TAB,
  steps: 2,
  state,
});

const drawn = (state?: Tab["state"]) => <Operators page={page} tab={tab(state)} compared={null} />;
const view = (state?: Tab["state"]) => words(drawn(state));

describe("tables of ops", () => {
  test("there is a chip for what is recorded, and a strange one is by name", () => {
    expect(groupingsOf(RESULT).map(({ id }) => id)).toEqual(["name", "shape"]);
    expect([groupingOf(RESULT, "line").id, groupingOf(RESULT, "shape").id]).toEqual(["name", "shape"]);
    expect(knowsWhere(RESULT)).toBe(true);
  });

  test("the filter finds ops and what tells them apart", () => {
    const names = (typed: string) => matching(ROWS, typed).map(({ name }) => name);
    expect(names(" ADDMM")).toEqual(["aten::addmm"]);
    expect(names("")).toHaveLength(3);
    expect(matching(tableOf(RESULT, "shape", "ran").rows, "[4,2]")).toHaveLength(1);
  });

  test("what is not shown stands in the foot", () => {
    const table = tableOf(RESULT, "name", "ran");
    expect(restOf(table, matching(table.rows, "addmm"))).toEqual({
      rows: 7,
      calls: 58,
      host_self_ns: 20e6,
      runtime_ns: 4e6,
      device_self_ns: 9e6,
      allocated_self_bytes: null,
    });
  });

  test("a share on tensor cores is a range where some kernels do not tell", () => {
    expect(tensorText({ kernel_ns: 100, tensor_ns: 63, unknown_ns: 8 })).toBe("63.0–71.0\u00a0%");
    expect(tensorText({ kernel_ns: 100, tensor_ns: 50, unknown_ns: 0 })).toBe("50.0\u00a0%");
    expect(tensorText({ kernel_ns: 0, tensor_ns: 0, unknown_ns: 0 })).toBe("–");
  });

  test("shapes, lines and stacks are short in a cell", () => {
    expect(shapesText("[[512],[141,512],[]]")).toBe("[512] [141, 512]");
    expect(shapesText("[[],[]]")).toBe("no tensors");
    const stack = { id: "stack" as const, label: "", meaning: "", second: "" };
    expect(shortKey(stack, "a/net.py(4): f;train.py(9): step")).toBe("net.py:4 f < train.py:9 step");
  });
});

describe("the tree of modules", () => {
  test("shows what is opened, and opens level by level as far as there is room", () => {
    const names = (open: ReadonlySet<number>) => linesOf(FOLDED, open).map((line) => `${line.depth}${line.row.name}`);
    expect(names(new Set())).toEqual(["0Net"]);
    expect(names(new Set([0]))).toEqual(["0Net", "1Layer", "1Head"]);
    expect(names(openAtFirst(FOLDED, 10))).toEqual(["0Net", "1Layer", "2Linear", "1Head"]);
    expect(names(openAtFirst(FOLDED, 3))).toEqual(["0Net", "1Layer", "1Head"]);
  });
});

describe("the Operators view", () => {
  test("shows ops of a mean step, and what is missing with what adds it", () => {
    const shownText = view();
    expect(shownText).toContain("|aten::addmm takes 77 % of the GPU's work|a step|");
    const rows = rowsOf(drawn(), "Ops").map((row) => Object.values(row));
    expect(rows[0]).toEqual(["aten::addmm", "2", "15.00 ms", "5.00 ms", "10.00 ms", "10.00 ms", "4", "0 %", "0.50 ms"]);
    expect(rows.at(-1)?.slice(0, 2)).toEqual(["5 more rows", "25"]);
    expect(shownText).toContain("|Not recorded: call stacks| |");
    expect(hintsOf(drawn())).toContain("Lines and call stacks are not recorded.");
  });

  test("without an op in the steps there is nothing to sort, filter or draw, but the way to the recording", () => {
    const tables = RESULT.tables.map((table) => ({ ...table, rows: [], rest: NO_REST }));
    const empty = { ...page, result: { ...RESULT, tables, folded: [], modules: [] } };
    const shownText = (state: Tab["state"]) => words(<Operators page={empty} tab={tab(state)} compared={null} />);
    const nothing = "|Which ops take the time?|No op begins in the steps. |";
    expect(shownText({})).toContain(`${nothing}Show the whole recording|Not recorded: call stacks| |`);
    expect(shownText({ steps: WHOLE_RECORDING })).toContain(`${nothing}Not recorded: call stacks| |`);
  });

  test("folded layers have the mean of a call and that of the slowest", () => {
    const layer = rowsOf(drawn(), "Modules").find(({ Module }) => Module?.startsWith("Layer"));
    expect(layer).toMatchObject({ Module: "Layer12 modules", Calls: "12", "Of the step": "6.0 %" });
    expect(layer).toMatchObject({ Each: "0.50 ms", Slowest: "7.00 ms" });
  });

  test("an op that is opened has its shares by shape", () => {
    const shownText = view({ op: "aten::addmm" });
    expect(shownText).toContain("|By shapes|");
    expect(shownText).toContain("|[8] [4, 2]|2|100");
  });
});

test("what ops and modules allocate has columns where memory was recorded", () => {
  const allocated = { allocated_bytes: 3 << 20, allocated_self_bytes: 1 << 20 };
  const rows = [row("aten::addmm", 20e6, allocated), row("aten::mul", 6e6, { ...allocated, allocated_bytes: 0 })];
  const result: OperatorsResult = {
    ...RESULT,
    tables: [{ by: "name", where: "ran", rows, rest: { ...NO_REST, rows: 2, allocated_self_bytes: 4 << 20 } }],
    folded: [
      module("Net", -1, {
        ...allocated,
        allocated_bytes: 5 << 20,
        backward_allocated_bytes: 7 << 20,
        backward_host_ns: 1,
      }),
    ],
    outside_modules: { device_ns: 5e6, allocated_bytes: 9 << 20 },
  };
  expect(restOf(result.tables[0]!, rows.slice(0, 1)).allocated_self_bytes).toBe(5 << 20);
  const shownText = words(<Operators page={{ ...page, result }} tab={tab()} compared={null} />);
  expect(shownText).toMatch(
    /\|Allocated\|aten::addmm\|.*\|1\.6 MB\|.*\|Allocated\|Allocated backward\|.*\|2\.6 MB\|3\.7 MB\|/,
  );
  expect(shownText).toMatch(/outside any module.*2\.5.*4\.7 MB/);
  expect(view()).not.toMatch(/allocated/i);
});

describe("next to another span", () => {
  const other = (more: Partial<OperatorsResult>) => ({
    name: "b",
    own: "a",
    page: { ...page, result: { ...RESULT, ...more } },
  });
  const text = (more: Partial<OperatorsResult>, state?: Tab["state"]) =>
    words(<Operators page={page} tab={tab(state)} compared={other(more)} />);

  test("ops have its time, the difference a step, and what only it has", () => {
    const rows = [row("aten::addmm", 12e6), row("aten::mul", 6e6), row("aten::bmm", 4e6)];
    const tables = [{ by: "name" as const, where: "ran" as const, rows, rest: NO_REST }];
    const shownText = text({ tables, folded: [] });
    expect(shownText).toContain("|6.0 ms|+4.0 ms|");
    expect(shownText).toContain("only here"); // this is aten::linear
    expect(shownText).toContain("Not among these rows of a, but in b, a step: aten::bmm (2.0 ms).");
    const one = text({ tables, folded: [], steps: RESULT.steps.slice(0, 1) });
    expect(one).toContain("|12.0 ms|-2.0 ms|"); // one step of b takes 12 ms, two steps of a take 20 ms
  });

  test("a module without a like in the other span is said once, not with all that is inside it", () => {
    const folded = [FOLDED[0]!, module("Old", 0), module("Linear", 1), module("Head", 0, { device_total_ns: 16e6 })];
    const compared = { ...part({ folded }) };
    const { columns, only } = comparedModules(compared, false)!;
    expect(only.rows).toEqual([{ name: "Net / Old", ns: 6e6 }]);
    expect(columns.rows.map((each) => [columns.keyOf(each), columns.ns(each) / columns.steps[0]])).toEqual([
      ["Net", 6e6],
      ["Net / Layer", 6e6],
      ["Net / Layer / Linear", 6e6],
      ["Net / Head", 6e6],
    ]);
    expect(columns.others.map((each) => columns.ns(each) / columns.steps[1])).toEqual([6e6, 6e6, 6e6, 8e6]);
    expect(text({ folded })).toContain("Only b has, a step: Net / Old (6.0 ms).");
  });

  test("where the other has nothing of the kind, there are no columns", () => {
    expect(comparedOps(part({ tables: [] }), groupingOf(RESULT, "name"), "ran")).toBeNull();
    expect(comparedModules(part({ folded: [] }), false)).toBeNull();
  });

  const part = (more: Partial<OperatorsResult>) => ({
    result: RESULT,
    titles: {},
    tab: tab(),
    name: "",
    compared: other(more),
  });
});

test("a long name keeps its end", () => {
  const shownText = words(<Middle name="aten::cudnn_convolution_backward_weight" />);
  expect(shownText).toBe("|aten::cudnn_convolution_backw|ard_weight|");
  expect(words(<Middle name="aten::addmm" />)).toBe("|aten::addmm|");
});

test("two lines of a file with a long name differ in the end that always shows", () => {
  const names = ["make_graphed_callables.py:139 main", "make_graphed_callables.py:234 <module>"];
  const ends = names.map((name) =>
    words(<Middle name={name} tail={16} />)
      .split("|")
      .at(-2),
  );
  expect(ends[0]).toContain(":139 main");
  expect(ends[1]).toContain(":234 <module>");
});
