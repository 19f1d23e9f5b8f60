import { act, cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { BusyBins, TimelinePage } from "../../src/api.gen";
import type { ViewSource } from "../../src/server/client";
import { type Answer, SILENT } from "../../src/server/client";
import { ready } from "../fixtures/pages";
import { keys } from "./fake_server";
import { EVENTS, rest, Shown, stage, timelineEvents } from "./shown_timeline";

/** In each bin, the GPU is busy half of the time, and one kernel starts. */
const busyBins = async (_span: string, { from, to, bins }: { from: number; to: number; bins: number }) =>
  ready<BusyBins>({
    start_ns: from,
    end_ns: to,
    of: "gpu",
    devices: 1,
    busy_ns: Array.from({ length: bins }, () => (to - from) / bins / 2),
    kernels: Array.from({ length: bins }, () => 1),
    most: [],
  });

let events: ViewSource;
const held = () => render(<Shown events={events} />);

const type = (key: string) => fireEvent.keyDown(stage(), { key });
const statuses = () => screen.getAllByRole("status").map((each) => each.textContent);
const zoom = () => keys().zoom ?? null;

beforeEach(async () => {
  vi.useFakeTimers();
  window.location.hash = "#tb_steptime&p.tb_steptime.step=5";
  events = timelineEvents({ busy: busyBins });
  held();
  await rest();
});
test("the overview says what it waits for and why it is empty, and no more once it is there", async () => {
  cleanup();
  const said = () => statuses().filter((text) => /busy|No answer/.test(text!));
  const answers: Answer<BusyBins>[] = [{ kind: "gone", value: { problem: "No answer", file: "", hint: "Wait." } }];
  const busy: ViewSource["busy"] = async (span, asked) => answers.shift() ?? busyBins(span, asked);
  render(<Shown events={timelineEvents({ busy })} />);
  await rest();
  expect(said()).toEqual(["No answer. Wait."]);
  await act(async () => void (await vi.advanceTimersByTimeAsync(10_000)));
  expect(said()).toEqual([]);
  expect(screen.getByText("GPU busy")).toBeTruthy();
  cleanup();
  render(<Shown events={timelineEvents({ busy: () => new Promise(() => {}) })} />);
  await rest();
  await rest();
  expect(said()).toEqual(["Reading how busy the recording is."]);
});

test("W and S zoom around the middle, A and D move; the address follows once it rests", async () => {
  type("w");
  type("w");
  expect(zoom()).toBeNull();
  await rest();
  const { from, to } = zoom()!;
  expect(to - from).toBeLessThan(200);
  type("d");
  await rest();
  expect(zoom()!.from).toBeGreaterThan(from);
  type("0");
  await rest();
  expect(zoom()).toBeNull();
});

test("brackets go to the next step and back", async () => {
  type("]");
  expect(keys().step).toBe("6");
  type("]");
  expect(keys().step).toBe("6");
  type("[");
  expect(keys().step).toBe("5");
});

test("arrow keys go from event to event, Enter opens one, Escape closes it", async () => {
  type("ArrowRight");
  await rest();
  expect(statuses()).toContain("The thread, a, 300\u00a0ns, step 5");
  type("ArrowDown");
  await rest();
  expect(statuses()).toContain("The stream, c, 100\u00a0ns, step 5");
  type("Enter");
  await rest();
  expect(keys().event).toBe(2);
  expect(screen.getByRole("heading", { name: "aten::a" })).toBeTruthy();
  type("Escape");
  expect(keys().event).toBeUndefined();
});

test("dragging the axis zooms to what it marks, dragging the tracks moves, a double click shows the step", async () => {
  fireEvent.pointerDown(stage(), { clientX: 400, clientY: 5, button: 0 });
  fireEvent.pointerMove(stage(), { clientX: 600, clientY: 5 });
  fireEvent.pointerUp(stage(), { clientX: 600, clientY: 5 });
  await rest();
  const { from, to } = zoom()!;
  expect(to - from).toBeLessThan(120);
  fireEvent.pointerDown(stage(), { clientX: 600, clientY: 200, button: 0 });
  fireEvent.pointerMove(stage(), { clientX: 500, clientY: 200 });
  fireEvent.pointerUp(stage(), { clientX: 500, clientY: 200 });
  await rest();
  expect(zoom()!.from).toBeGreaterThan(from);
  expect(zoom()!.to - zoom()!.from).toBeCloseTo(to - from, -1);
  fireEvent.dblClick(stage(), { clientX: 600, clientY: 200 });
  await rest();
  expect(zoom()).toBeNull();
});

test("a failure is said in the place of the picture, and a retry brings the events", async () => {
  document.body.innerHTML = "";
  const problem = { problem: "The file is gone", file: "w.json", hint: "Was it moved?" };
  events.timeline = async () => ({ kind: "problem", value: problem });
  held();
  await rest();
  expect(screen.getByRole("alert").textContent).toContain("The file is gone.");
  events.timeline = async () => ready(EVENTS);
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  await rest();
  expect(screen.queryByRole("alert")).toBeNull();
});

describe("events that do not come", () => {
  const silent: Answer<TimelinePage> = { kind: "gone", value: SILENT };
  const wait = (ms: number) => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));
  let count = 0;

  async function opened(answer: () => Promise<Answer<TimelinePage>>) {
    cleanup();
    count = 0;
    events.timeline = () => {
      count += 1;
      return answer();
    };
    held();
    await wait(0);
  }

  test("are asked for after 1, 2, 4 s, and at once on a press", async () => {
    await opened(async () => silent);
    await wait(100);
    expect(screen.getByRole("alert").textContent).toContain("TensorBoard does not answer.");
    expect(screen.getByRole("alert").textContent).toMatch(/Trying again in 1\s+s\./);
    const counts = [];
    for (const pause of [1_000, 2_000, 4_000]) {
      counts.push(count);
      await wait(pause);
    }
    expect([...counts, count]).toEqual([1, 2, 3, 4]);
    events.timeline = async () => ready(EVENTS);
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    await rest();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  test("are not asked for behind another plugin, and at once when it is in front again", async () => {
    await opened(async () => silent);
    const height = window.innerHeight;
    window.innerHeight = 0;
    window.dispatchEvent(new Event("resize"));
    await wait(60_000);
    expect(count).toBe(1);
    window.innerHeight = height;
    window.dispatchEvent(new Event("resize"));
    expect(count).toBe(2);
  });

  test("are said to be opened after 300 ms, not before", async () => {
    await opened(() => new Promise((resolve) => setTimeout(() => resolve(ready(EVENTS)), 1_000)));
    await wait(250);
    expect(screen.queryByRole("progressbar")).toBeNull();
    await wait(100);
    expect(screen.getByRole("progressbar", { name: "Opening the events" })).toBeTruthy();
    await wait(1_000);
    expect(screen.queryByRole("progressbar")).toBeNull();
  });
});

test("M measures the selected event, Z zooms to the range, Escape clears it", async () => {
  type("ArrowRight");
  type("m");
  await rest();
  expect(keys().range).toEqual({ from: 0, to: 300 });
  expect(statuses()).toContainEqual(
    expect.stringMatching(/^Measured 300\sns, steps 5 to 6.*GPU busy 150\sns, 50.0\s% of it/),
  );
  type("z");
  await rest();
  expect(zoom()).toEqual({ from: 0, to: 312 });
  type("Escape");
  expect(keys().range).toBeUndefined();
});

test("Shift and a drag measures, and its ends snap to those of an event", async () => {
  // The row of the stream.
  const at = (ns: number) => ({ clientX: 180 + (ns * (stage().clientWidth - 180)) / 260, clientY: 101 });
  fireEvent.pointerDown(stage(), { ...at(61), button: 0, shiftKey: true });
  fireEvent.pointerMove(stage(), at(159));
  expect(keys().range).toBeUndefined();
  fireEvent.pointerUp(stage(), at(159));
  await rest();
  expect(keys().range).toEqual({ from: 60, to: 160 });
  fireEvent.pointerDown(stage(), { ...at(200), button: 0, shiftKey: true });
  fireEvent.pointerUp(stage(), at(200));
  expect(keys().range).toBeUndefined();
});

test("H goes to the track's name, P pins it, T filters", async () => {
  type("ArrowRight");
  type("h");
  await rest();
  expect(statuses()).toContain("Track The thread, Process 1");
  type("p");
  await rest();
  expect(keys().pins).toEqual(new Set(["0"]));
  expect(statuses()).toContain("Track The thread pinned");
  type("ArrowDown");
  type("ArrowRight");
  await rest();
  expect(statuses()).toContain("The stream, c, 100\u00a0ns, step 5");
  type("t");
  const field = screen.getByRole("searchbox", { name: /tracks/ });
  expect(document.activeElement).toBe(field);
  fireEvent.input(field, { target: { value: "runtime" } });
  expect(keys().tracks).toBe("runtime");
  expect(statuses()).toContain("1 of 2\u00a0tracks");
  fireEvent.keyDown(field, { key: "Escape" });
  expect(keys().tracks).toBeUndefined();
});

test("the overview is a slider that keys move", async () => {
  const slider = screen.getByRole("slider", { name: "Visible part of the recording" });
  expect(slider.getAttribute("aria-valuetext")).toMatch(/of 500\sns: steps 5 to 6/);
  fireEvent.keyDown(slider, { key: "End" });
  await rest();
  expect(zoom()!.to).toBe(500);
});
