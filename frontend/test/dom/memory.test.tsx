/** Memory, and memory snapshots: chosen in its view, drawn, compared, and shown if there is no recording. */

import { cleanup, fireEvent, render, screen, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { Address, Changes } from "../../src/address/keys";
import type { DeviceMemory, MemoryPage, PageOf, SnapshotPage } from "../../src/api.gen";
import { shownSnapshot } from "../../src/frame/snapshot";
import { type Answer, openClient } from "../../src/server/client";
import { Memory } from "../../src/views/memory/memory";
import { Snapshot } from "../../src/views/memory/snapshot/snapshot";
import { FLAME } from "../fixtures/flame";
import { answered, memoryPage, RESULT } from "../fixtures/memory";
import { index, ready, run, span, TAB } from "../fixtures/pages";
import { entry, snapshotPage } from "../fixtures/snapshot";
import { rowsOf } from "./fake_server";

interface MemoryQuery {
  device: number;
  from: number;
  to: number;
  at: number | null;
}

/** Draws the view. Returns the requests to the server, and the changes of the address. */
function show(state: Address = {}, page: PageOf<"memory"> = memoryPage(), gone = false) {
  const requests: MemoryQuery[] = [];
  const changed: Changes[] = [];
  const memory = async (_span: string, query: MemoryQuery): Promise<Answer<MemoryPage>> => {
    requests.push({ device: query.device, from: query.from, to: query.to, at: query.at });
    const problem = { problem: "Only the summary of this trace is here", file: "", hint: "Put the trace back." };
    return gone ? { kind: "problem", value: problem } : ready(answered(query.at));
  };
  const tab = { ...TAB, state, source: { ...TAB.source, memory }, update: (keys: Changes) => changed.push(keys) };
  render(<Memory page={page} tab={tab} compared={null} />);
  return { asked: requests, changed };
}

test("the peak is shown from the summary, without a question to the server", () => {
  const { asked: requests } = show();
  const parts = within(screen.getByRole("list", { name: "Kinds of memory" })).getAllByRole("listitem");
  expect(parts.map((part) => part.textContent?.replaceAll("\u00a0", " "))).toEqual([
    "Activations7.0 MB 70.0 %",
    "Before the recording3.0 MB 30.0 %",
  ]);
  expect(rowsOf("Largest allocations")).toEqual([
    "aten::addmm in aten::linear|Linear_3, net.py:7 forward|Activations|6, model|its step|6.0 MB",
    "aten::addmm in aten::linear|Linear_3, net.py:7 forward|unknown|5, model|to the end|2.0 MB",
  ]);
  expect(rowsOf("What every step leaves allocated")[0]).toContain("|5|2.0 MB");
  expect(requests).toEqual([]);
});

test("the peak is in the unit of the axis beside it", () => {
  const page = memoryPage();
  const [gpu] = page.result.devices as [DeviceMemory];
  const curve = { ...gpu.curve, reserved_most: gpu.curve.reserved_most.map(() => 12e9) };
  const device = { ...gpu, curve, peak: { ...gpu.peak, allocated_bytes: 9_883e6 } };
  show({}, { ...page, result: { ...page.result, devices: [device] } });
  expect(screen.getByText(/^peak /).textContent).toBe("peak 9.9\u00a0GB");
});

test.each([
  [999, true],
  [1000, false],
])("of %s bytes at the peak nothing is drawn: %s", (allocated_bytes, little) => {
  const page = memoryPage();
  const [gpu] = page.result.devices as [DeviceMemory];
  const device = { ...gpu, peak: { ...gpu.peak, allocated_bytes } };
  show({}, { ...page, result: { ...page.result, devices: [device] } });
  const kinds = screen.queryByRole("list", { name: "Kinds of memory" });
  expect([screen.queryByText(/Hardly anything/) !== null, kinds !== null]).toEqual([little, !little]);
});

test("the peak at other batches stands in a table, or why it is not known", () => {
  show();
  expect(screen.getByRole("heading", { name: "The largest batch is 300" })).toBeTruthy();
  expect(screen.getByText(/batch of 32; 700.MB reserved, not used/)).toBeTruthy();
  expect(rowsOf("Memory at other batches")).toEqual(["32|10 MB|10 MB|10 MB", "64|18 MB|17 MB|19 MB"]);
  cleanup();
  const page = memoryPage();
  const [gpu, cpu] = page.result.devices as [DeviceMemory, DeviceMemory];
  show({ memory: 1 }, { ...page, result: { ...page.result, devices: [gpu, { ...cpu, device: 1 }] } });
  expect(screen.getByRole("heading", { name: "Which batch fits?" })).toBeTruthy();
  expect(screen.queryByRole("grid", { name: "Memory at other batches" })).toBeNull();
});

test.each([
  [["Tesla V100"], false],
  [[], true],
])("the memory of the CPU limits the batch only of a job without a GPU (GPUs: %s)", (device_names, limits) => {
  const page = memoryPage();
  show({ memory: 1 }, { ...page, head: { ...page.head, device_names } });
  expect(screen.queryByRole("heading", { name: "Which batch fits?" }) !== null).toBe(limits);
});

test("a press on the picture asks what is alive then, and the address keeps it", () => {
  const { changed } = show();
  fireEvent.keyDown(screen.getByRole("slider", { name: /at the peak/ }), { key: "Home" });
  fireEvent.keyDown(screen.getByRole("slider", { name: /at the peak/ }), { key: "Enter" });
  expect(changed).toEqual([{ instant: 0 }]);
});

test("calls of the driver stand on the same axis, and are told where the pointer is", () => {
  show();
  expect(document.querySelectorAll("line.call")).toHaveLength(1);
  const chart = screen.getByRole("slider", { name: /at the peak/ });
  fireEvent.keyDown(chart, { key: "End" });
  expect(chart.getAttribute("aria-valuetext")).not.toContain("cudaMalloc");
  for (let press = 0; press < 200; press++) {
    fireEvent.keyDown(chart, { key: "ArrowLeft" });
    if (chart.getAttribute("aria-valuetext")?.includes("Call of the driver cudaMalloc")) return;
  }
  throw new Error("no instant of the picture tells of the call at 11 µs");
});

test("what is alive at an instant comes from the server", async () => {
  const { asked: requests, changed } = show({ instant: 3_000 });
  expect(await screen.findByRole("heading", { name: /^What is alive at 3.µs\?$/ })).toBeTruthy();
  await screen.findByText("7 smaller ones are not listed.");
  expect(requests).toEqual([{ device: 0, from: 0, to: 20_000, at: 3_000 }]);
  expect(rowsOf("Largest allocations")).toEqual(["outside of ops|Gradients|6, model|its step|6.0 MB"]);
  fireEvent.click(screen.getByRole("button", { name: "Show the peak" }));
  expect(changed).toEqual([{ instant: null }]);
});

test("zoomed in, the curve is exact", async () => {
  const { asked: requests } = show({ zoom: { from: 2_000, to: 4_000 } });
  expect(screen.getByText(/reading the trace/)).toBeTruthy();
  await expect.poll(() => screen.queryByText(/reading the trace/)).toBeNull();
  expect(requests).toEqual([{ device: 0, from: 2_000, to: 4_000, at: null }]);
});

test("without the trace it says that the curve is coarse, and why nothing is known of an instant", async () => {
  show({ instant: 3_000, zoom: { from: 2_000, to: 4_000 } }, memoryPage(), true);
  await screen.findByText("Only the summary of this trace is here. Put the trace back.");
  expect(screen.getByText(/coarse/)).toBeTruthy();
});

test("a device of a file without totals says what is not known", () => {
  const { changed } = show({ memory: 1 });
  expect(screen.queryByRole("grid", { name: "Largest allocations" })).toBeNull();
  expect(screen.queryByRole("list", { name: "Kinds of memory" })).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "GPU 0" }));
  expect(changed).toEqual([{ memory: null }]);
});

test("where nothing was recorded the view says which flag adds it, and what it costs", () => {
  show({}, memoryPage({ ...RESULT, devices: [], unknown: { code: "memory_not_recorded", values: {} } }));
  expect(screen.getByText(/profile_memory=True, record_shapes=True/)).toBeTruthy();
  expect(screen.getByRole("note", { name: "Details" }).dataset.hint).toContain("slows the CPU");
  expect(screen.queryByText("Allocations were not recorded.")).toBeNull(); // because the headline already says so
});

test("what fills the peak, and the settings that change it", () => {
  show();
  expect(rowsOf("Memory at the peak by module")).toEqual([
    "Net › Block|8.0 MB|0 MB|250 kB",
    "before the recording|2.0 MB|2.0 MB|0 kB",
  ]);
  expect(rowsOf("Settings")).toEqual([
    "As recorded|10 MB|10 µs|–|–|320\u202f000",
    "Checkpoint every Block|6.0 MB|12 µs|–|–|400\u202f000",
    "SGD|9.0 MB|–|–|–|–",
    "Activations on the CPU|5.0 MB|18 µs|8.0 MB|8 µs|480\u202f000",
  ]);
  expect(document.body.textContent).toContain("pinned memory: 25.0\u00a0GB/s to the GPU, 20.0\u00a0GB/s back");
});

test("the best setting's code stands there, and arrow keys choose another one", () => {
  show();
  expect(screen.getByRole("region", { name: "Checkpoint every Block" }).textContent).toContain("checkpoint(block)");
  const chart = screen.getByRole("slider", { name: "Settings by memory and step time" });
  fireEvent.keyDown(chart, { key: "End" });
  expect(chart.getAttribute("aria-valuetext")).toContain("Activations on the CPU");
  expect(chart.getAttribute("aria-valuetext")).toContain("Copies, est. 8\u00a0µs");
  fireEvent.keyDown(chart, { key: "Enter" });
  const text = screen.getByRole("region", { name: "Activations on the CPU" }).textContent;
  expect(text).toContain("each step copies 8.0\u00a0MB in est. 8\u00a0µs.");
  expect(text).toContain("save_on_cpu()");
});

const SNAPSHOTS = [entry("x"), entry("y", { step: 20 }), entry("z", { run: "b" })];

/** Draws a snapshot. Returns the changes of the address, and the tab. */
function showSnapshot(state: Address = {}, page: SnapshotPage = snapshotPage()) {
  const changed: Changes[] = [];
  const known = { ...TAB.index, runs: [...TAB.index.runs, run("b", [span(9)])], snapshots: SNAPSHOTS };
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
  showSnapshot();
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

test("what is in use at the moment is told by its kinds", () => {
  const stacks = { ...FLAME, host_ns: "", device_ns: null, idle_ns: null, allocated_bytes: "5000,4,7,3,2,2,1" };
  showSnapshot({}, snapshotPage({ stacks }));
  const kinds = within(screen.getByRole("list", { name: "Kinds of memory" })).getAllByRole("listitem");
  expect(kinds.map(plain)).toEqual(["Gradients3 kB 60.0 %", "Before the recording2 kB 40.0 %"]);
});

test("a press on the picture chooses a moment, a chip another snapshot of the run or one to compare with", () => {
  const { changed } = showSnapshot();
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
  showSnapshot({ since: "y" }, snapshotPage({ growth: { device: 0, more_bytes: 800, more_reserved_bytes: 0, lines } }));
  expect(screen.getByRole("heading", { name: "What has grown since step 20, rank 3?" })).toBeTruthy();
  expect(plain(within(screen.getByRole("grid", { name: "Growth by line" })).getAllByRole("row")[1]!)).toContain(
    "+800 B",
  );
});

test("without a history it says how to record one", () => {
  showSnapshot({}, snapshotPage({ curve: null }));
  expect(screen.queryByRole("slider")).toBeNull();
  expect(screen.getByText("torch.cuda.memory._record_memory_history()")).toBeTruthy();
});

test("the Memory view of a recording leads to the snapshots of its run, in a report to none", () => {
  const known = index([run("a", [span(1)]), run("b", [span(2)])], { snapshots: SNAPSHOTS });
  const page = memoryPage();
  const ofRun = { ...page, head: { ...page.head, run: "a" } };
  const { rerender } = render(<Memory page={ofRun} tab={{ ...TAB, index: known }} compared={null} />);
  expect(pressed("Recording or memory snapshot")).toEqual(["Recording *", "step 10, rank 3", "step 20, rank 3"]);
  rerender(<Memory page={ofRun} tab={{ ...TAB, index: known, written_ms: 1 }} compared={null} />);
  expect(screen.queryByRole("group", { name: "Recording or memory snapshot" })).toBeNull();
});

test("snapshots of a folder without a recording stand beside those of each run, with their folder", () => {
  const apart = entry("w", { run: "dumps", name: "oom", rank: null, step: null });
  const known = index([run("a", [span(1)]), run("b", [span(2)])], { snapshots: [entry("x"), apart, SNAPSHOTS[2]!] });
  const page = memoryPage();
  const ofRun = { ...page, head: { ...page.head, run: "a" } };
  render(<Memory page={ofRun} tab={{ ...TAB, index: known }} compared={null} />);
  expect(pressed("Recording or memory snapshot")).toEqual(["Recording *", "step 10, rank 3", "dumps: oom"]);
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
