import { h } from "preact";
import { render } from "preact-render-to-string";
import { expect, test } from "vitest";
import type { EventDetail, TimelineResult } from "../src/api.gen";
import { contrast, mixed, shadeOf } from "../src/charts/canvas/palette";
import { boxAt, boxesOf } from "../src/views/timeline/data/boxes";
import { matcherOf } from "../src/views/timeline/data/found";
import { stepAt, stepInSight, wholeOf } from "../src/views/timeline/data/steps";
import { commandOf, wheelCommand } from "../src/views/timeline/input/commands";
import { type Direction, nextBox } from "../src/views/timeline/input/neighbours";
import { layoutOf } from "../src/views/timeline/layout";
import { fitted, unscoped } from "../src/views/timeline/paint/signs";
import { Panel } from "../src/views/timeline/panel";
import { stepTitle, tableOf, visibleText } from "../src/views/timeline/spoken";
import { NO_CHOICES } from "../src/views/timeline/tracks";
import { ready } from "./fixtures/pages";
import { boxes, layer, PALETTE, page, TWO } from "./fixtures/timeline";

const letters = (text: string) => 6 * text.length;

const RESULT: TimelineResult = {
  first_ns: 0,
  last_ns: 4_000_000,
  steps: [
    { name: "4", start_ns: 0, end_ns: 2_000_000 },
    { name: "5", start_ns: 2_000_000, end_ns: 3_000_000 },
    { name: "6", start_ns: 3_000_000, end_ns: 4_200_000 },
  ],
};

const DETAIL: EventDetail = {
  event: 7,
  name: "void gemm_kernel<float>(int)",
  short_name: "gemm<float>",
  kind: "GPU kernel",
  on: "GPU 0, Stream 7",
  track: 3,
  row: 0,
  start_ns: 1_500,
  end_ns: 4_920,
  facts: [
    { label: "Grid", value: { value: "32 x 1 x 1", unit: "text" }, copied: null },
    { label: "Duration", value: { value: 3_420, unit: "ns" }, copied: null },
  ],
  links: [
    { role: "Launched by", event: 5, name: "cudaLaunchKernel", track: 2, row: 0, start_ns: 1_000, end_ns: 1_400 },
  ],
  gap_start_ns: 500,
  why_gap: { template: "The GPU was idle for {gap}.", values: { gap: { value: 1_000, unit: "ns" } } },
};

test("a name is cut where it says least, and left out where three letters do not fit", () => {
  expect(fitted("aten::add", letters, 62)).toBe("aten::add");
  expect(fitted("aten::add", letters, 60)).toBe("add");
  expect(fitted("aten::batch_norm", letters, 50)).toBe("batch_…");
  expect(fitted("aten::batch_norm", letters, 26)).toBe("ba…");
  expect(fitted("aten::batch_norm", letters, 20)).toBeNull();
  expect([200, 150, 100].map((room) => fitted("void implicit_gemm<float, 128>(int, int)", letters, room))).toEqual([
    "implicit_gemm<float, 128>",
    "implicit_gemm",
    "implicit_gemm",
  ]);
  expect(fitted("", letters, 100)).toBeNull();
  expect(fitted("ampere_sgemm_128x64_tn_and_more_of_it", letters, 8 + 6 * 21)).toBe("ampere_sge…more_of_it");
});

test("scopes and types before a name are not it", () => {
  expect(
    [
      "aten::add_",
      "void at::native::fill<at::Half>(int)",
      "void kernel<a::b>",
      "autograd::engine::evaluate_function: MulBackward0",
      "cudaLaunchKernel",
      "a::",
    ].map(unscoped),
  ).toEqual(["add_", "fill<at::Half>(int)", "kernel<a::b>", "MulBackward0", "cudaLaunchKernel", "a::"]);
});

test("a search lights boxes in any case, by their short and by their whole names", () => {
  const of = boxesOf({ ...page("stream | aa bb cc"), full_names: ["void at::native::Add", "", ""] });
  const lit = (words: string) => [...matcherOf(words)!(of)];
  expect([matcherOf("  "), lit(" ADD "), lit("a"), lit("B"), lit("d")]).toEqual([
    null,
    [1, 0, 0],
    [1, 0, 0],
    [0, 1, 0],
    [1, 0, 0],
  ]);
});

test("arrow keys go along a row and to the rows that have something there", () => {
  const all = [layer(boxes(TWO))];
  const layout = layoutOf(all[0]!.boxes.tracks, false, NO_CHOICES);
  const visible = { from: 0, to: 70 };
  const walk = (...ways: Direction[]) =>
    ways.reduce<ReturnType<typeof nextBox>>(
      (here, direction) => nextBox(all, layout, here, direction, visible) ?? here,
      null,
    )?.name;
  expect([
    walk("right"),
    walk("right", "right"),
    walk("right", "right", "right"),
    walk("right", "right", "left"),
  ]).toEqual(["a", "b", "b", "a"]);
  expect([
    walk("right", "down"),
    walk("right", "down", "down"),
    walk("right", "down", "down", "down"),
    walk("right", "right", "down", "down", "down"),
  ]).toEqual(["c", "l", "k", "k"]);
  expect([walk("right", "down", "up"), walk("right", "up")]).toEqual(["a", "a"]);
  // The chosen box is no longer visible.
  expect(nextBox(all, layout, { ...boxAt(all[0]!.boxes, 0), from: 900, to: 950 }, "right", visible)?.name).toBe("a");
});

test("every command has a key, and the browser keeps its own", () => {
  const key = (name: string, more = {}) =>
    commandOf({ key: name, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more })?.kind ?? null;
  expect(["w", "S", "+", "a", "ArrowUp", "]", "Enter", "Escape", "0", "f", "/"].map((name) => key(name))).toEqual([
    "zoom",
    "zoom",
    "zoom",
    "pan",
    "move",
    "step",
    "open",
    "drop",
    "reset",
    "fit",
    "find",
  ]);
  expect([
    key("f", { ctrlKey: true }),
    key("Tab"),
    key("q"),
    key("toString"),
    key("ArrowLeft", { shiftKey: true }),
  ]).toEqual([null, null, null, null, "pan"]);
});

test("the wheel scrolls, with Ctrl it zooms, sideways or with Shift it pans", () => {
  const setToggledTracks = (more: object) =>
    wheelCommand({ deltaX: 0, deltaY: 100, deltaMode: 0, ctrlKey: false, metaKey: false, shiftKey: false, ...more });
  expect([setToggledTracks({}), setToggledTracks({ shiftKey: true }), setToggledTracks({ deltaX: 120 })]).toEqual([
    null,
    { kind: "pan", px: 100 },
    { kind: "pan", px: 120 },
  ]);
  expect(setToggledTracks({ ctrlKey: true })).toMatchObject({ kind: "zoom", factor: expect.closeTo(1.259, 2) });
  expect(setToggledTracks({ ctrlKey: true, deltaY: -3, deltaMode: 1 })).toMatchObject({
    kind: "zoom",
    factor: expect.closeTo(0.895, 2),
  });
});

test("the step is the one of the address, else that of the zoom, else the one of median length", () => {
  expect(stepAt(RESULT, { step: "5" }, null)).toBe(1);
  expect(stepAt(RESULT, {}, { from: 100, to: 200 })).toBe(0);
  expect([stepAt(RESULT, { step: "99" }, null), stepAt({ ...RESULT, steps: [] }, {}, null)]).toEqual([2, null]);
  expect([stepAt(RESULT, {}, null, "5"), stepAt(RESULT, { step: "4" }, null, "5")]).toEqual([1, 0]);
  expect(stepAt(RESULT, {}, null, "a step that is not judged")).toBe(2);
  expect(wholeOf(RESULT)).toEqual({ from: 0, to: 4_200_000 });
});

test("another step is shown only when nothing of this one is visible", () => {
  const come = (from: number, to: number) => stepInSight(RESULT, RESULT.steps[0]!, { from, to }).name;
  expect([come(1_900_000, 2_900_000), come(2_100_000, 3_900_000), come(5_000_000, 6_000_000)]).toEqual(["4", "6", "4"]);
});

test("the title says the step and how much of it is visible", () => {
  const [step] = RESULT.steps as [TimelineResult["steps"][0]];
  expect(stepTitle(step, { steps_by: "marks" })).toBe("Step 4, 2.0\u00a0ms");
  expect(stepTitle(step, { steps_by: "recording" })).toBe("The recording, 2.0\u00a0ms");
  expect(visibleText(step, { from: -10, to: 2_000_010 })).toBe("");
  expect(visibleText(step, { from: 500_000, to: 2_500_000 })).toBe("1.5\u00a0ms of it visible");
  expect(visibleText(step, { from: 2_500_000, to: 3_500_000 })).toBe("visible: 1.0\u00a0ms after it");
});

test("the table holds every box visible, from the step's start", () => {
  const of = boxes("stream | aa  k");
  expect(tableOf([layer(of, 30, 60)], layoutOf(of.tracks, false, NO_CHOICES), RESULT.steps[0]!)).toEqual({
    columns: [
      { label: "Where" },
      { label: "Name" },
      { label: "Start in the step", unit: "ns" },
      { label: "Length", unit: "ns" },
      { label: "Events", unit: "count" },
    ],
    rows: [["GPU 0, The stream", "k", 40, 10, 1]],
  });
});

test("a name has one shade everywhere, and words can be read on each", () => {
  expect([mixed("#888", "#ffffff", 0.5), mixed("#000000", "#ffffff", 1)]).toEqual(["#c4c4c4", "#ffffff"]);
  expect([shadeOf("aten::add"), shadeOf("aten::add") < 3]).toEqual([shadeOf("aten::add"), true]);
  const worst = [...PALETTE.fills.values()]
    .flat()
    .map(({ plain, ink }) => contrast(plain, ink))
    .reduce((least, each) => Math.min(least, each));
  expect(worst).toBeGreaterThanOrEqual(4.5);
});

test("the panel says facts, ties and why the GPU was idle before", () => {
  const html = render(
    h(Panel, {
      request: { event: 7, answer: ready(DETAIL) },
      together: 12,
      steps: [{ name: "4", start_ns: 1_000, end_ns: 9_000 }],
      first_ns: 200,
      go: () => {},
      unfold: () => {},
      openLine: () => {},
      zoom: () => {},
      close: () => {},
    }),
  );
  const words = html
    .replace(/<[^>]+>/g, "\n")
    .replace(/\n+/g, "\n")
    .replace(/&lt;/g, "<");
  for (const inPanel of [
    "gemm<float>",
    "the longest of 12 events drawn as one",
    "GPU kernel · GPU 0, Stream 7",
    "void gemm_kernel<float>(int)",
    "Start in step 4\n500\u00a0ns",
    "Start in the recording\n1.3\u00a0µs",
    "Grid\n32 x 1 x 1",
    "Duration\n3.42\u00a0µs",
    "The GPU was idle for 1\u00a0µs.",
    "Launched by\ncudaLaunchKernel\n400\u00a0ns",
  ]) {
    expect(words).toContain(inPanel);
  }
});

const NOTHING_DONE = { go: () => {}, unfold: () => {}, openLine: () => {}, zoom: () => {}, close: () => {} };

test("without an event the panel says how to get one, and what went wrong where it did", () => {
  const panel = (request: Parameters<typeof Panel>[0]["request"]) =>
    render(h(Panel, { request, ...NOTHING_DONE, together: 1, steps: [], first_ns: 0 }));
  expect(panel(null)).toContain("Click an event");
  expect(
    panel({
      event: 1,
      answer: { kind: "problem", value: { problem: "The trace is gone", file: "", hint: "Put it back." } },
    }),
  ).toContain("The trace is gone. Put it back.");
});
