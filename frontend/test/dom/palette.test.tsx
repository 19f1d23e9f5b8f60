import { act, fireEvent, screen, waitFor, within } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { openUrlStore } from "../../src/address/url";
import type { OperatorRow, OperatorsResult, PageOf, SnapshotEntry } from "../../src/api.gen";
import { type Goal, matchingGoals, opGoals, piecesOf } from "../../src/frame/palette/goals";
import { PALETTE } from "../../src/frame/palette/palette_button";
import { index, PAGE, ready, run, span } from "../fixtures/pages";
import { GONE, keys, openTab, says } from "./fake_server";

const MS = 1_000_000;

const op = (name: string, host_ms: number): OperatorRow => ({
  ...{ name, key: null, calls: 4, host_total_ns: host_ms * MS, host_self_ns: host_ms * MS, runtime_ns: 0 },
  ...{ device_total_ns: null, device_self_ns: null, launches: null, idle_ns: 0, kernel_ns: null },
  ...{ tensor_ns: null, unknown_ns: null, allocated_bytes: null, allocated_self_bytes: null },
});

const REST = { rows: 0, calls: 0, host_self_ns: 0, runtime_ns: 0, device_self_ns: null, allocated_self_bytes: null };

const table = (by: "name", rows: OperatorRow[]) => ({ by, where: "ran" as const, rows, rest: REST });

const PAGE_OF_OPS = {
  ...PAGE,
  result: {
    tables: [table("name", [op("aten::native_dropout", 6), op("aten::linear", 4)])],
    modules: [],
    lines: { rows: [{ source: "model.py(24): forward", idle_ns: 10 * MS, host_self_ns: 6 * MS }] },
  } as unknown as OperatorsResult,
} as unknown as PageOf<"operators">;

const SNAPSHOT: SnapshotEntry = {
  ...{ id: "s1", run: "dumps", name: "oom", rank: null, step: null },
  ...{ file: "dumps/oom.pickle", file_bytes: 3_000_000, written_ns: 1 },
};

function server() {
  const told = says();
  told.views.operators = ready(PAGE_OF_OPS);
  return told;
}

const dialog = () => screen.queryByRole("dialog", { name: "Go to anything" });
const rows = () =>
  screen
    .getAllByRole("option")
    .map((row) => [...row.children].map((cell) => cell.textContent!.replaceAll("\u00a0", " ")));
const type = (value: string) => fireEvent.input(screen.getByRole("combobox"), { target: { value } });
const key = (name: string, more = {}) =>
  fireEvent.keyDown(document.activeElement ?? document.body, { key: name, ...more });

async function summon(how: KeyboardEventInit = { ctrlKey: true }) {
  key("k", how);
  await screen.findByRole("dialog", { name: "Go to anything" });
}

async function openPalette(address = "run=a&span=1") {
  const requests = await openTab(address, server());
  await screen.findByRole("button", { name: /Go to anything/ });
  await summon();
  await waitFor(() => {
    type("aten");
    expect(rows()).toHaveLength(2);
  });
  return requests;
}

test("words find ops, lines, runs and commands, each with its figure; Enter goes there", async () => {
  await openPalette();
  expect(rows()).toEqual([
    ["Op", "aten::native_dropout", "2 calls a step", "3.0 ms on the CPU"],
    ["Op", "aten::linear", "2 calls a step", "2.0 ms on the CPU"],
  ]);
  type(":24");
  expect(rows()).toEqual([["Line", "model.py(24): forward", "", "5.0 ms GPU idle"]]);
  type("#6");
  expect(rows()).toEqual([["Step", "Step 6", "", "150.0 ms"]]);
  type("ATEN drop");
  expect(rows().map(([, name]) => name)).toEqual(["aten::native_dropout"]);
  type("step 5");
  key("Enter");
  expect(dialog()).toBeNull();
  expect(keys()).toMatchObject({ step: "5" });
});

test("an op leads to its row, and a line to its text", () => {
  const goals = opGoals(PAGE_OF_OPS);
  expect(goals.map(({ name, go }) => [name, go])).toEqual([
    ["aten::native_dropout", opened("aten::native_dropout")],
    ["aten::linear", opened("aten::linear")],
    ["model.py(24): forward", { view: "operators", line: "model.py(24): forward", mark: null }],
  ]);
});

const opened = (op: string) => ({ view: "operators", by: null, ops: null, op, mark: `operators:${op}` });

test("arrows move, the focus returns, and a step opens in the Timeline with Alt", async () => {
  await openPalette();
  expect(within(dialog()!).queryByText(/in Timeline/)).toBeNull(); // of an op it shows no place there
  type("#");
  expect(within(dialog()!).getByText(/in Timeline/)).toBeTruthy();
  key("ArrowDown");
  expect(within(dialog()!).getByRole("option", { selected: true }).textContent).toContain("Step 6");
  key("Enter", { altKey: true });
  expect(keys()).toMatchObject({ view: "timeline", step: "6" });
  screen.getByRole("button", { name: /Go to anything/ }).focus();
  await summon({ metaKey: true });
  fireEvent(dialog()!, new Event("close")); // this is what the browser does on Esc
  expect(document.activeElement).toBe(screen.getByRole("button", { name: /Go to anything/ }));
});

test("commands drop a comparison only where there is one", async () => {
  await openPalette("run=a&span=1&with=b%2Fworker0%2F3");
  type(">drop");
  expect(rows().map(([, name]) => name)).toEqual(["Drop the comparison"]);
  key("Enter");
  expect(keys().with).toBeUndefined();
});

const viewKeys = () =>
  [...screen.getByRole("navigation", { name: "Views" }).querySelectorAll("a")].map(
    (link) => [link.querySelector("span")!.textContent!, link.getAttribute("aria-keyshortcuts")] as const,
  );

test("each view opens with the key that its link and the palette say, from a memory snapshot too", async () => {
  const told = server();
  told.index = ready(index([run("a", [span(1)])], { snapshots: [SNAPSHOT] }));
  await openTab("run=a&span=1", told, { snapshot: async () => GONE });
  await screen.findByRole("navigation", { name: "Views" });
  expect(viewKeys().map(([, pressed]) => pressed)).toEqual(["1", "2", "3", "4", "5", "R", "T", "8"]);
  await summon();
  const told_keys = rows().filter(([kind]) => kind === "View");
  expect(told_keys.map(([, title, aside]) => [title, aside])).toEqual(
    viewKeys().map(([title, pressed]) => [title, `key ${pressed}`]),
  );
  fireEvent(dialog()!, new Event("close"));
  for (const [title, pressed] of viewKeys()) {
    act(() => openUrlStore(window).update({ view: "memory", snapshot: SNAPSHOT.id, all: null }));
    fireEvent.keyDown(document.body, { key: pressed!.toLowerCase() });
    await waitFor(() => expect(document.title).toContain(title));
    expect(keys().snapshot).toBeUndefined();
  }
});

test("a memory snapshot is found by its name, its file or what it is", async () => {
  const told = server();
  told.index = ready(index([run("a", [span(1)])], { snapshots: [SNAPSHOT] }));
  await openTab("run=a&span=1&zoom=5-9", told, { snapshot: async () => GONE });
  await screen.findByRole("button", { name: /Go to anything/ });
  await summon();
  for (const typed of ["memory snapshot", "oom", "dumps/oom.pickle"]) {
    type(typed);
    expect(rows()).toEqual([["Snapshot", "dumps: oom", "", "3.0 MB"]]);
  }
  key("Enter");
  expect(keys()).toMatchObject({ view: "memory", snapshot: SNAPSHOT.id });
  expect(keys().zoom).toBeUndefined();
});

test("digits open views, brackets go from step to step, and what is typed into a field stays there", async () => {
  await openTab("run=a&span=1", server());
  const views = (await screen.findByRole("navigation", { name: "Views" })).querySelectorAll("a > span:first-child");
  key("]");
  await waitFor(() => expect(keys().step).toBe("5"));
  key("]");
  await waitFor(() => expect(keys().step).toBe("6"));
  key("[");
  await waitFor(() => expect(keys().step).toBe("5"));
  await summon();
  key("2");
  expect(keys().view).toBeUndefined();
  fireEvent(dialog()!, new Event("close"));
  fireEvent.keyDown(document.body, { key: "2" });
  expect(document.title).toContain(views[1]!.textContent);
});

test("before the palette is loaded a digit opens no view; where it cannot be loaded, digits do again", async () => {
  let fail = () => {};
  vi.spyOn(PALETTE, "now").mockReturnValue(null);
  vi.spyOn(PALETTE, "load").mockReturnValue(new Promise((_, failed) => (fail = () => failed(new TypeError()))));
  await openTab("run=a&span=1", server());
  await screen.findByRole("navigation", { name: "Views" });
  key("k", { ctrlKey: true });
  key("2");
  expect(keys().view).toBeUndefined();
  await act(async () => fail());
  expect(dialog()).toBeNull();
  key("2");
  expect(keys().view).toBe("trends");
});

const goal = (name: string, kind: Goal["kind"] = "Op"): Goal => ({ kind, name, figure: "", go: {} });

test("a word that a name begins with comes before one within a word, and a thousand runs are found at once", () => {
  const goals = [goal("backdrop"), goal("aten::dropout"), goal("drop_run", "Run")];
  expect(matchingGoals(goals, "drop").map(({ name }) => name)).toEqual(["aten::dropout", "drop_run", "backdrop"]);
  expect(matchingGoals(goals, "run").map(({ name }) => name)).toEqual(["drop_run"]);
  const many = Array.from({ length: 100_000 }, (_, at) => goal(`kernel_${at} of sweep ${at % 7}`, "Kernel"));
  const took_ms = Array.from({ length: 10 }, () => {
    const begun = performance.now();
    expect(matchingGoals(many, "sweep 6 kernel_99")).toHaveLength(60);
    return performance.now() - begun;
  });
  expect(Math.min(...took_ms)).toBeLessThan(400); // 100 times as many as a page holds, on any machine, once undisturbed
});

test("a name is cut at the words that were found", () => {
  expect(piecesOf("NativeDropoutBackward0", ["drop"])).toEqual(["Native", "Drop", "outBackward0"]);
  expect(piecesOf("a.b (c)", ["(", "."])).toEqual(["a", ".", "b ", "(", "c)"]);
});
