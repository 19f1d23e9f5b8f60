import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/preact";
import { expect, onTestFinished, test } from "vitest";
import type { Changes } from "../../src/address/keys";
import type { CodeLine, OperatorsResult, SourceText } from "../../src/api.gen";
import type { Answer } from "../../src/server/client";
import { Lines } from "../../src/views/operators/source/lines";
import type { OperatorPart } from "../../src/views/operators/tables";
import type { Tab } from "../../src/views/props";
import { ready, TAB } from "../fixtures/pages";

const line = (source: string, idle_ms: number, host_ms: number): CodeLine => ({
  source,
  calls: 4,
  host_self_ns: host_ms * 1e6,
  host_total_ns: host_ms * 1e6,
  device_ns: 1e6,
  launches: 2,
  idle_ns: idle_ms * 1e6,
  allocated_bytes: null,
});

const resultOf = (rows: CodeLine[]) =>
  ({
    steps: [{}, {}],
    recorded: { ops: true, shapes: false, stacks: true, modules: false, backward: false },
    lines: {
      line_of: "function",
      where: "ran",
      host_ns: 20e6,
      rows,
      more: 0,
      rest: { host_self_ns: 0, device_ns: null, launches: null, idle_ns: null, allocated_bytes: null },
      elsewhere: { host_self_ns: 1e6, device_ns: 0, launches: 0, idle_ns: 4e6, allocated_bytes: null },
    },
  }) as unknown as OperatorsResult;

const ROWS = [line("net.py(3): forward", 8, 4), line("train.py(1): step", 2, 6), line("net.py(9): gone", 0, 1)];

const NET: SourceText = {
  file: "net.py",
  origin: "folder",
  path: "/job/net.py",
  lines: ["import torch", "", "def forward(x):", "    return x @ x", ""],
  marks: [
    { source: "net.py(3): forward", meaning: "function", first: 3, last: 4 },
    { source: "net.py(9): gone", meaning: "other", first: 0, last: 0 },
  ],
};

const NOTHING: SourceText = { file: "train.py", origin: null, path: null, lines: [], marks: [] };

function show(state: Tab["state"] = {}, more: { other?: CodeLine[]; report?: boolean } = {}) {
  const requests: Changes[] = [];
  const source = async (_: string, file: string): Promise<Answer<SourceText>> =>
    ready(file === "net.py" ? NET : NOTHING);
  const tab: Tab = {
    ...TAB,
    state,
    steps: 2,
    source: more.report ? TAB.source : { ...TAB.source, source },
    update: (changes) => requests.push(changes),
  };
  const compared = more.other ? { name: "base", own: "mine", page: { result: resultOf(more.other) } } : null;
  const part = { result: resultOf(ROWS), titles: {}, tab, name: "a", compared } as unknown as OperatorPart;
  render(<Lines part={part} span="id-1" />);
  return requests;
}

const textOf = (element: Element): string => element.textContent!.replaceAll(/[\u00a0\u202f]/g, " ");

const table = () =>
  within(screen.getByRole("grid", { name: "Lines of your code" }))
    .getAllByRole("row")
    .slice(1)
    .map((row) => [...row.querySelectorAll("td")].map(textOf));

const shown = async () => {
  const box = await screen.findByRole("application", { name: "net.py, with what its lines cost" });
  return [...box.querySelectorAll(".source-line:not(.heads)")].map((row) => [...row.children].map(textOf));
};

test("lines have a step's figures, and with what is elsewhere they sum to the whole", () => {
  show();
  expect(table()).toEqual([
    ["net.py:3 forward", "2", "4.00 ms", "0.50 ms", "2.00 ms", "2.00 ms"],
    ["train.py:1 step", "2", "1.00 ms", "0.50 ms", "3.00 ms", "3.00 ms"],
    ["net.py:9 gone", "2", "0 ms", "0.50 ms", "0.50 ms", "0.50 ms"],
    ["Elsewhere", "2.00 ms", "0 ms", "0.50 ms", ""],
  ]);
});

test("the hottest line's text has its figures; a line that is not there any more is told and not marked", async () => {
  show();
  expect(await shown()).toEqual([
    ["1", "", "", "", "import torch"],
    ["2", "", "", "", ""],
    ["3", "4.00 ms", "0.50 ms", "2.00 ms", "def forward(x):"],
    ["4", "", "", "", "    return x @ x"],
    ["5", "", "", "", ""],
  ]);
  expect(screen.getByText(/^1 line of 2 is not what the trace says/)).toBeTruthy();
  expect(document.querySelectorAll(".source-line.chosen")).toHaveLength(2);
});

test("files, lines, arrow keys, the Timeline and the editor lead on", async () => {
  const requests = show({ line: "net.py(9): gone", editor: "vscode" });
  const box = await screen.findByRole("application");
  fireEvent.keyDown(box, { key: "ArrowDown" });
  fireEvent.keyDown(box, { key: "ArrowUp" });
  fireEvent.click(box.querySelector('[data-line="4"]')!);
  fireEvent.click(screen.getByRole("button", { name: /^train.py/ }));
  fireEvent.click(screen.getByRole("button", { name: "Find in the Timeline" }));
  expect(screen.getByRole("link", { name: "Open in VS Code" }).getAttribute("href")).toBe("vscode://file/job/net.py:9");
  fireEvent.click(screen.getByRole("checkbox"));
  expect(requests).toEqual([
    { line: "net.py(3): forward" },
    { line: "net.py(3): forward" },
    { line: "train.py(1): step" },
    { view: "timeline", find: "net.py(9): gone" },
    { editor: null },
  ]);
});

/** The source text, which must take the page's keys. */
const source = () => {
  const found = screen.getByRole("region", { name: "Source text" });
  expect(found.hasAttribute("data-takes-keys")).toBe(true);
  return found;
};

test("V opens the line in the editor and D hides its change, wherever the focus is", async () => {
  const followed: string[] = [];
  const requests = show({ editor: "vscode" }, { other: ROWS });
  const follow = (event: Event) => {
    event.preventDefault();
    followed.push((event.target as HTMLElement).getAttribute("href")!);
  };
  document.addEventListener("click", follow);
  onTestFinished(() => document.removeEventListener("click", follow));
  await screen.findByRole("link", { name: "Open in VS Code" });
  await waitFor(() => {
    fireEvent.keyDown(source(), { key: "v" });
    expect(followed).toEqual(["vscode://file/job/net.py:3"]);
  });
  for (const key of ["d", "x"]) fireEvent.keyDown(source(), { key });
  fireEvent.keyDown(screen.getByRole("application"), { key: "d", ctrlKey: true });
  expect(followed).toHaveLength(1);
  expect(requests).toEqual([{ line_change: "off" }]);
});

test("without links to the editor and without another run neither key does anything; D shows what it hid", async () => {
  expect(show()).toEqual([]);
  await screen.findByRole("application");
  // The keys are left to other handlers.
  expect(["v", "d"].map((key) => fireEvent.keyDown(source(), { key }))).toEqual([true, true]);
  cleanup();
  const requests = show({ line_change: "off" }, { other: ROWS });
  expect(table()[0]).toHaveLength(6);
  fireEvent.keyDown(source(), { key: "d" });
  expect(requests).toEqual([{ line_change: null }]);
});

test("without text it says how to get one; a report has none", async () => {
  show({ line: "train.py(1): step" });
  const message = await screen.findByText("This file is not here.");
  expect(within(message).getByRole("note", { name: "Details" }).dataset.hint).toContain(
    "profile_steps(…, sources=True)",
  );
  show({}, { report: true });
  expect(screen.getByText("A report holds no source text.")).toBeTruthy();
});

test("against another run each line has its change, in the table and in the text", async () => {
  show({}, { other: [line("net.py(2): forward", 2, 4), line("train.py(1): step", 2, 6)] });
  expect(table().map((row) => row[6])).toEqual(["+3.0 ms", "0 ms", "only here", undefined]);
  expect((await shown())[2]).toEqual(["3", "4.00 ms", "0.50 ms", "2.00 ms", "+3.00 ms", "def forward(x):"]);
});

test("two files of one name are told apart by their folders", () => {
  const rows = [line("moe/layer.py(3): forward", 8, 4), line("attention/layer.py(1): step", 2, 6), ROWS[1]!];
  const part = { result: resultOf(rows), titles: {}, tab: TAB, name: "a", compared: null } as unknown as OperatorPart;
  render(<Lines part={part} span="id-1" />);
  const files = within(screen.getByRole("list", { name: /^Files/ })).getAllByRole("button");
  expect(files.map(({ textContent }) => textContent)).toEqual(["moe/layer.py", "attention/layer.py", "train.py"]);
});
