import { cleanup, fireEvent, render, screen, within } from "@testing-library/preact";
import { afterEach, expect, test } from "vitest";
import type { Address, Changes } from "../../src/address/keys";
import type { MemoryPage, PageOf } from "../../src/api.gen";
import type { Answer } from "../../src/server/client";
import { Memory } from "../../src/views/memory/memory";
import { answered, memoryPage, RESULT } from "../fixtures/memory";
import { TAB } from "../fixtures/pages";

afterEach(cleanup);

interface Asked {
  device: number;
  from: number;
  to: number;
  at: number | null;
}

/** Draws the view. Returns the requests to the server, and the changes of the address. */
function show(state: Address = {}, page: PageOf<"memory"> = memoryPage(), gone = false) {
  const asked: Asked[] = [];
  const changed: Changes[] = [];
  const memory = async (_span: string, said: Asked): Promise<Answer<MemoryPage>> => {
    asked.push({ device: said.device, from: said.from, to: said.to, at: said.at });
    const problem = { problem: "Only the summary of this trace is here", file: "", hint: "Put the trace back." };
    return gone ? { kind: "problem", value: problem } : { kind: "ready", value: answered(said.at) };
  };
  const tab = { ...TAB, state, events: { ...TAB.events, memory }, update: (keys: Changes) => changed.push(keys) };
  render(<Memory page={page} tab={tab} compared={null} />);
  return { asked, changed };
}

const rowsOf = (table: string): string[] =>
  within(screen.getByRole("grid", { name: table }))
    .getAllByRole("row")
    .slice(1)
    .map((row) =>
      [...row.querySelectorAll("td")].map((cell) => cell.textContent?.replaceAll("\u00a0", " ").trim()).join("|"),
    );

test("the peak is shown from the summary, without a question to the server", () => {
  const { asked } = show();
  const parts = within(screen.getByRole("list", { name: "Kinds of memory" })).getAllByRole("listitem");
  expect(parts.map((part) => part.textContent?.replaceAll("\u00a0", " "))).toEqual([
    "Activations7.0 MB 70.0 %",
    "Before the recording3.0 MB 30.0 %",
  ]);
  expect(rowsOf("Largest allocations")).toEqual([
    "aten::addmm in aten::linear|Linear_3, net.py(7): forward|Activations|6, model|its step|6.0 MB",
    "aten::addmm in aten::linear|Linear_3, net.py(7): forward|unknown|5, model|to the end|2.0 MB",
  ]);
  expect(rowsOf("What every step leaves allocated")[0]).toContain("|5|2.0 MB");
  expect(asked).toEqual([]);
});

test("the peak at other batches stands in a table, or why it is not known", () => {
  show();
  expect(screen.getByRole("heading", { name: "The largest batch is 300" })).toBeTruthy();
  expect(screen.getByText(/batch of 32; 700.MB more were reserved at the peak, and not used/)).toBeTruthy();
  expect(rowsOf("Memory at other batches")).toEqual(["32|10 MB|10 MB|10 MB", "64|18 MB|17 MB|19 MB"]);
  cleanup();
  show({ memory: 1 });
  expect(screen.getByRole("heading", { name: "Which batch fits?" })).toBeTruthy();
  expect(screen.queryByRole("grid", { name: "Memory at other batches" })).toBeNull();
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
  const { asked, changed } = show({ instant: 3_000 });
  expect(await screen.findByRole("heading", { name: /^What is alive at 3.µs\?$/ })).toBeTruthy();
  await screen.findByText("7 smaller ones are not listed.");
  expect(asked).toEqual([{ device: 0, from: 0, to: 20_000, at: 3_000 }]);
  expect(rowsOf("Largest allocations")).toEqual(["outside of ops|Gradients|6, model|its step|6.0 MB"]);
  fireEvent.click(screen.getByRole("button", { name: "Show the peak" }));
  expect(changed).toEqual([{ instant: null }]);
});

test("zoomed in, the curve is exact", async () => {
  const { asked } = show({ zoom: { from: 2_000, to: 4_000 } });
  expect(screen.getByText(/reading the trace/)).toBeTruthy();
  await expect.poll(() => screen.queryByText(/reading the trace/)).toBeNull();
  expect(asked).toEqual([{ device: 0, from: 2_000, to: 4_000, at: null }]);
});

test("without the trace it says that the curve is coarse, and why nothing is known of an instant", async () => {
  show({ instant: 3_000, zoom: { from: 2_000, to: 4_000 } }, memoryPage(), true);
  await screen.findByText("Only the summary of this trace is here. Put the trace back.");
  expect(screen.getByText(/coarse: only the summary is here/)).toBeTruthy();
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
  expect(screen.getByText(/slows the CPU/)).toBeTruthy();
  expect(screen.queryByText("Allocations were not recorded.")).toBeNull(); // because the headline already says so
});

test("what fills the peak, and the settings that change it", () => {
  show();
  expect(rowsOf("Memory at the peak by module")).toEqual([
    "Net › Block|8.0 MB|0 MB|250 kB",
    "before the recording|2.0 MB|2.0 MB|0 kB",
  ]);
  expect(rowsOf("Settings")).toEqual([
    "As recorded|10 MB|10 µs|–|–|319\u202f992",
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
