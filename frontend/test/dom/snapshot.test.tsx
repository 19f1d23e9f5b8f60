/** Memory snapshots: chosen in the Memory view, drawn, compared, and shown if there is no recording. */

import { cleanup, fireEvent, render, screen, within } from "@testing-library/preact";
import { afterEach, expect, test } from "vitest";
import type { Address, Changes } from "../../src/address/keys";
import type { SnapshotPage } from "../../src/api.gen";
import { shownSnapshot } from "../../src/frame/snapshot";
import { openClient } from "../../src/server/client";
import { Memory } from "../../src/views/memory/memory";
import { Snapshot } from "../../src/views/memory/snapshot/snapshot";
import { memoryPage } from "../fixtures/memory";
import { index, run, span, TAB } from "../fixtures/pages";
import { entry, snapshotPage } from "../fixtures/snapshot";

afterEach(cleanup);

const SNAPSHOTS = [entry("x"), entry("y", { step: 20 }), entry("z", { run: "b" })];

/** Draws a snapshot. Returns the changes of the address, and the tab. */
function show(state: Address = {}, page: SnapshotPage = snapshotPage()) {
  const changed: Changes[] = [];
  const known = { ...TAB.index, snapshots: SNAPSHOTS };
  const tab = { ...TAB, state, index: known, update: (keys: Changes) => changed.push(keys) };
  render(<Snapshot page={page} entry={SNAPSHOTS[0]!} tab={tab} />);
  return { changed, tab };
}

const plain = (element: Element): string => element.textContent!.replaceAll("\u00a0", " ");

const pressed = (group: string): string[] =>
  within(screen.getByRole("group", { name: group }))
    .getAllByRole("button")
    .map((each) => `${plain(each)}${each.getAttribute("aria-pressed") === "true" ? " *" : ""}`);

test("it says what was lost and failed before, and parts sum to what is reserved", () => {
  show();
  expect([...document.querySelectorAll(".note")].map(plain)).toEqual([
    "Before that. Out of memory: 1 GB asked.",
    "Not all of it was read. They are not as PyTorch writes them: 2 stacks.",
  ]);
  const parts = within(screen.getByRole("list", { name: "Parts of what is reserved" })).getAllByRole("listitem");
  expect(parts.map(plain)).toEqual(["in use4 kB 66.7 %", "rounding100 B 1.7 %", "free, kept by blocks2 kB 31.7 %"]);
  expect(screen.getByRole("img", { name: /A segment of 6.kB with 2.kB free between blocks in use/ })).toBeTruthy();
  expect(plain(within(screen.getByRole("grid", { name: "Lines" })).getAllByRole("row")[1]!)).toContain(
    "train.py:3 step",
  );
});

test("a press on the picture chooses a moment, a chip another snapshot of the run or one to compare with", () => {
  const { changed } = show();
  expect(pressed("Recording or memory snapshot")).toEqual(["Recording", "step 10, rank 3 *", "step 20, rank 3"]);
  expect(pressed("Compare with")).toEqual(["none *", "step 20, rank 3"]);
  fireEvent.keyDown(screen.getByRole("slider"), { key: "Home" });
  fireEvent.keyDown(screen.getByRole("slider"), { key: "Enter" });
  const press = (group: string, name: string) =>
    fireEvent.click(within(screen.getByRole("group", { name: group })).getByRole("button", { name }));
  press("Compare with", "step 20, rank 3");
  press("Recording or memory snapshot", "Recording");
  const anew = { zoom: null, instant: null, frame: null, memory: null, since: null };
  expect(changed).toEqual([{ instant: 0 }, { since: "y" }, { ...anew, snapshot: null }]);
});

test("what has grown is told by line", () => {
  const lines = [
    { line: "leak.py:9", function: "step", before_bytes: 0, after_bytes: 800, before_count: 0, after_count: 8 },
  ];
  show({ since: "y" }, snapshotPage({ growth: { device: 0, more_bytes: 800, more_reserved_bytes: 0, lines } }));
  expect(screen.getByRole("heading", { name: "What has grown since step 20, rank 3?" })).toBeTruthy();
  expect(plain(within(screen.getByRole("grid", { name: "Growth by line" })).getAllByRole("row")[1]!)).toContain(
    "+800 B",
  );
});

test("without a history it says how to record one", () => {
  show({}, snapshotPage({ curve: null }));
  expect(screen.queryByRole("slider")).toBeNull();
  expect(screen.getByText("torch.cuda.memory._record_memory_history()")).toBeTruthy();
});

test("the Memory view of a recording leads to the snapshots of its run, in a report to none", () => {
  const known = index([run("a", [span(1)])], { snapshots: SNAPSHOTS });
  const page = memoryPage();
  const ofRun = { ...page, head: { ...page.head, run: "a" } };
  const { rerender } = render(<Memory page={ofRun} tab={{ ...TAB, index: known }} compared={null} />);
  expect(pressed("Recording or memory snapshot")).toEqual(["Recording *", "step 10, rank 3", "step 20, rank 3"]);
  rerender(<Memory page={ofRun} tab={{ ...TAB, index: known, written_ms: 1 }} compared={null} />);
  expect(screen.queryByRole("group", { name: "Recording or memory snapshot" })).toBeNull();
});

test("a snapshot stands in the Memory view alone, and in place of all views where nothing was recorded", () => {
  const client = openClient();
  const [recorded, none] = [
    index([run("a", [span(1)])], { snapshots: SNAPSHOTS }),
    index([], { snapshots: SNAPSHOTS }),
  ];
  const shown = (of: typeof recorded, state: Address) => shownSnapshot(of, state, client)?.id ?? null;
  expect(shown(recorded, { view: "memory", snapshot: "y" })).toBe("y");
  expect(shown(recorded, { view: "gpu", snapshot: "y" })).toBeNull();
  expect(shown(recorded, { view: "memory", snapshot: "gone" })).toBeNull();
  expect(shown(none, {})).toBe("z");
  expect(shown(none, { snapshot: "x" })).toBe("x");
  expect(shown(index([]), {})).toBeNull();
});
