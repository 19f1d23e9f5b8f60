import { fireEvent, screen, within } from "@testing-library/preact";
import { beforeEach, expect, test, vi } from "vitest";
import type { EventDetail } from "../../src/api.gen";
import type { ViewSource } from "../../src/server/client";
import { ready } from "../fixtures/pages";
import { keys } from "./fake_server";
import { DETAIL, EVENTS, PAGE, rest, show, stage, timelineEvents } from "./shown_timeline";

const LINE = "data/sets.py(7): item";
const KERNEL: EventDetail = {
  ...DETAIL,
  event: 2,
  name: "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
  short_name: "add<float>",
  kind: "GPU kernel",
  on: "GPU 0, Stream 7",
  track: 1,
  start_ns: 260,
  end_ns: 300,
  facts: [{ label: "Source line", value: { value: LINE, unit: "text" }, copied: `/home/me/job/${LINE}` }],
  links: [
    { role: "Launched by", event: 5, name: "cudaLaunchKernel", track: 0, row: 0, start_ns: 20, end_ns: 30 },
    { role: "In", event: 9, name: "torch/nn/functional.py(9): linear", track: 0, row: -1, start_ns: 0, end_ns: 50 },
  ],
};

let server: ViewSource;
const panel = () => within(screen.getByRole("region", { name: "The chosen event" }));
const opened = async (detail = KERNEL) => {
  server = timelineEvents({ event: async () => ready(detail) });
  await show(server, `p.tb_steptime.step=5&p.tb_steptime.event=${detail.event}`);
};

beforeEach(() => void vi.useFakeTimers());
test("it says what the event is, its whole name, and where it starts in its step and the recording", async () => {
  await opened();
  expect(panel().getByRole("heading", { name: "add<float>" })).toBeTruthy();
  expect(panel().getByText("GPU kernel · GPU 0, Stream 7")).toBeTruthy();
  expect(panel().getByText(KERNEL.name)).toBeTruthy();
  const start = (label: string) => panel().getByText(label).nextElementSibling!.textContent;
  expect([start("Start in step 6"), start("Start in the recording")]).toEqual(["10\u00a0ns", "260\u00a0ns"]);
});

test("without a step in the address it opens at the one that the first card is about, and says why", async () => {
  const shownText = () => screen.getByRole("heading", { name: /Step/ }).nextElementSibling!.textContent;
  await show(timelineEvents({}), "", { ...PAGE, shown_step: "6" });
  expect(screen.getByRole("heading", { name: /^Step 6/ })).toBeTruthy();
  expect(shownText()).toBe("the step of the first card");
  document.body.innerHTML = "";
  await show(timelineEvents({}), "p.tb_steptime.step=5", { ...PAGE, shown_step: "6" });
  expect(shownText()).not.toContain("first card");
});

test("a source line is shown below the working tree and copied whole", async () => {
  await opened();
  const writeText = vi.fn(async () => {});
  vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText } });
  expect(panel().getByText("data/sets.py:7 item")).toBeTruthy();
  fireEvent.click(panel().getByRole("button", { name: "Copy" }));
  await rest();
  expect(writeText).toHaveBeenCalledWith("/home/me/job/data/sets.py:7 item");
  vi.unstubAllGlobals();
});

test("a link selects the other event; one that is folded away is unfolded", async () => {
  await opened();
  fireEvent.click(panel().getByRole("button", { name: "cudaLaunchKernel" }));
  expect([keys().event, keys().frames]).toEqual([5, undefined]);
  fireEvent.click(panel().getByRole("button", { name: /functional/ }));
  expect([keys().event, keys().frames]).toEqual([9, "all"]);
});

test("Escape closes it from within, as its button does, and the picture has the focus", async () => {
  for (const close of [
    () => fireEvent.keyDown(panel().getByRole("button", { name: "Zoom to it" }), { key: "Escape" }),
    () => fireEvent.click(panel().getByRole("button", { name: "Close" })),
  ]) {
    document.body.innerHTML = "";
    await opened();
    panel().getByRole("button", { name: "Zoom to it" }).focus();
    close();
    expect([keys().event, document.activeElement]).toEqual([undefined, stage()]);
  }
});

test("an event that is folded away says so and can be unfolded", async () => {
  await opened({ ...KERNEL, row: -1 });
  fireEvent.click(panel().getByRole("button", { name: "Show all Python frames" }));
  expect(keys().frames).toBe("all");
});

test("frames that are not the user's are asked for, and folded again", async () => {
  const requests: boolean[] = [];
  const tracks = EVENTS.tracks.map((track) => ({ ...track, all_rows: track.rows + 3 }));
  const timeline: ViewSource["timeline"] = async (_span, { folded }) => {
    requests.push(folded);
    return ready({ ...EVENTS, tracks: folded ? tracks : tracks.map((track) => ({ ...track, rows: track.all_rows })) });
  };
  await show(timelineEvents({ timeline }));
  fireEvent.click(screen.getByRole("button", { name: "All Python frames" }));
  await rest();
  expect([keys().frames, requests.at(-1)]).toEqual(["all", false]);
  fireEvent.click(screen.getByRole("button", { name: "Only your Python frames" }));
  await rest();
  expect([keys().frames, requests]).toEqual([undefined, [true, false, true]]);
});

test.each([
  ["marks", "Whole step"],
  ["recording", "Whole trace"],
] as const)("the button that shows all names what that is, of steps by %s", async (steps_by, name) => {
  const result = { ...PAGE.result, steps: PAGE.result.steps.slice(0, 1) };
  await show(timelineEvents({}), "", { ...PAGE, head: { ...PAGE.head, steps_by }, result });
  expect(screen.getByRole("button", { name })).toBeTruthy();
});
