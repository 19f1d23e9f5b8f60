import { expect, test } from "vitest";
import type { Track } from "../src/api.gen";
import { moveFromHead } from "../src/views/timeline/input/neighbours";
import { layoutOf } from "../src/views/timeline/layout";
import { draggedTo, gripAt, typedWindow } from "../src/views/timeline/minimap";
import { joined, rangeBetween, rangeFacts, snapped, stepsText } from "../src/views/timeline/range";
import { heightAt, topOf } from "../src/views/timeline/scene";
import { spokenBox, spokenHead } from "../src/views/timeline/spoken";
import { choicesOf, found, NO_CHOICES, turnedKeys } from "../src/views/timeline/tracks";
import { boxes } from "./fixtures/timeline";

const track = (id: number, kind: Track["kind"], group: string, label: string, pinned = false, rows = 1): Track => ({
  id,
  kind,
  group,
  label,
  rows,
  pinned,
  all_rows: rows,
});

const TRACKS = [
  track(0, "steps", "Steps", "Steps", true),
  track(1, "phases", "Steps", "Phases"),
  track(2, "stream", "GPU 0", "Stream 7", true),
  track(3, "stream", "GPU 0", "Stream 20"),
  track(4, "thread", "Process 9", "Training thread 9", false, 3),
  track(5, "calls", "Process 9", "Calls of training thread 9"),
];

const shown = (choices = NO_CHOICES, room_px = 1000, hasQueue = false) =>
  layoutOf(TRACKS, hasQueue, choices, room_px).places.map((place) =>
    place.kind === "heading" ? `# ${place.text}` : place.kind === "track" ? place.name : place.kind,
  );

test("pinned tracks come first and say which GPU they are of; the others stand under their groups", () => {
  expect(shown(NO_CHOICES, 1000, true)).toEqual([
    "Steps",
    "GPU 0, stream 7",
    "queue",
    "# Steps",
    "Phases",
    "# GPU 0",
    "Stream 20",
    "# Process 9",
    "Training thread 9",
    "Its runtime calls",
  ]);
  expect(shown({ ...NO_CHOICES, pins: new Set([0, 2, 5]) }).slice(0, 4)).toEqual([
    "Calls of training thread 9",
    "# Steps",
    "Steps",
    "Phases",
  ]);
});

test("a filter leaves tracks of a name or a kind, and what is pinned", () => {
  expect(shown({ ...NO_CHOICES, filter: "streams" })).toEqual(["Steps", "GPU 0, stream 7", "# GPU 0", "Stream 20"]);
  expect(shown({ ...NO_CHOICES, filter: "python" }).slice(2)).toEqual(["# Process 9", "Training thread 9"]);
  expect(
    ["", "HOST", "cuda calls", "stream 20", "nothing"].map(
      (filter) => TRACKS.filter((each) => found(each, filter)).length,
    ),
  ).toEqual([6, 3, 1, 1, 0]);
});

test("what is pinned stays in sight while it takes no more than its share of the picture", () => {
  const [tall, low] = [1000, 60].map((room) => ({ layout: layoutOf(TRACKS, false, NO_CHOICES, room), scroll: 30 }));
  expect([tall!.layout.fixed_px, low!.layout.fixed_px]).toEqual([44, 0]);
  const tops = tall!.layout.places.map((place) => topOf(tall!, place));
  expect(tops.slice(0, 4)).toEqual([26, 48, 40, 62]);
  expect([heightAt(tall!, 50), heightAt(tall!, 80)]).toEqual([24, 84]);
});

test("choices are kept in the address, and a track that is turned back leaves it", () => {
  const choices = choicesOf({ folds: new Set(["4"]), tracks: "host" });
  expect(choices).toEqual({ folds: new Set([4]), pins: new Set(), filter: "host" });
  expect(turnedKeys(choices, "folds", 11)).toEqual({ folds: new Set(["4", "11"]) });
  expect(turnedKeys(choices, "folds", 4)).toEqual({ folds: null });
  expect(turnedKeys(choices, "pins", 2)).toEqual({ pins: new Set(["2"]) });
});

test("keys go from name to name, fold and open, and go into an open track", () => {
  const of = boxes(`
    thread |  aaaa
    thread |   cc
    stream | kk`);
  const scene = (folds: number[] = []) => ({
    layout: layoutOf(of.tracks, false, { ...NO_CHOICES, folds: new Set(folds) }),
    layers: [{ boxes: of, ...of.covers }],
    visible: of.covers,
  });
  expect(moveFromHead(scene(), 0, "down")).toEqual({ kind: "head", track: 1 });
  expect([moveFromHead(scene(), 1, "down"), moveFromHead(scene(), 0, "up")]).toEqual([null, null]);
  expect([moveFromHead(scene(), 0, "left"), moveFromHead(scene([0]), 0, "right")]).toEqual([
    { kind: "fold" },
    { kind: "fold" },
  ]);
  expect([moveFromHead(scene([0]), 0, "left"), moveFromHead(scene(), 1, "left")]).toEqual([null, null]);
  expect(moveFromHead(scene(), 0, "right")).toMatchObject({ kind: "box", box: { name: "a" } });
});

test("the selection is said in one sentence", () => {
  const layout = layoutOf(TRACKS, false, { ...NO_CHOICES, folds: new Set([4]) });
  const steps = [{ name: "3", start_ns: 0, end_ns: 5_000_000 }];
  const box = { track: 2, row: 0, event: 1, name: "gemm", fullName: "gemm", count: 1, from: 1e6, to: 2.2e6 };
  expect(spokenBox(box, layout, steps)).toBe("GPU 0, stream 7, gemm, 1.2\u00a0ms, step 3");
  expect(spokenBox({ ...box, track: 3, count: 12, from: 6e6, to: 6.5e6 }, layout, steps)).toBe(
    "Stream 20, 12\u00a0events, the longest gemm, 500\u00a0µs, outside the steps",
  );
  expect([2, 4, 99].map((id) => spokenHead(id, layout))).toEqual([
    "Track GPU 0, stream 7, pinned",
    "Track Training thread 9, Process 9, 3\u00a0rows, folded",
    "",
  ]);
});

const WHOLE = { from: 0, to: 1000 };
const WINDOW = { from: 400, to: 600 };

test("the window of the overview is taken by its edges or its middle; elsewhere a new one begins", () => {
  expect([90, 95, 110, 150, 195, 205, 215].map((x) => gripAt(x, 100, 200))).toEqual([
    "new",
    "from",
    "move",
    "move",
    "to",
    "to",
    "new",
  ]);
  expect(gripAt(103, 100, 106)).toBe("move");
  expect(draggedTo("from", WINDOW, 400, 100, WHOLE)).toEqual({ from: 100, to: 600 });
  expect(draggedTo("from", WINDOW, 400, 900, WHOLE)).toEqual({ from: 599.99, to: 600 });
  expect(draggedTo("to", WINDOW, 600, 5000, WHOLE)).toEqual({ from: 400, to: 1000 });
  expect(draggedTo("move", WINDOW, 500, 950, WHOLE)).toEqual({ from: 800, to: 1000 });
  expect(draggedTo("new", WINDOW, 900, 700, WHOLE)).toEqual({ from: 700, to: 900 });
});

test("keys move the window, resize it and bring it to the ends", () => {
  const typed = (key: string, shift = false) => typedWindow(key, shift, WINDOW, WHOLE);
  expect(typed("ArrowRight")).toEqual({ from: 420, to: 620 });
  expect(typed("ArrowLeft", true)).toEqual({ from: 400, to: 580 });
  expect([typed("PageDown"), typed("Home"), typed("End")]).toEqual([
    { from: 600, to: 800 },
    { from: 0, to: 200 },
    { from: 800, to: 1000 },
  ]);
  expect(typed("+")!.to - typed("+")!.from).toBeCloseTo(200 / 1.3);
  expect([typed("Tab"), typed("w")]).toEqual([null, null]);
});

test("a range has whole ends, which snap to the edges of events", () => {
  expect([rangeBetween(20.4, 3.2), rangeBetween(3.1, 3.2)]).toEqual([{ from: 3, to: 20 }, null]);
  expect([
    snapped(104, { from: 100, to: 200 }, 1),
    snapped(120, { from: 100, to: 200 }, 1),
    snapped(7, null, 1),
  ]).toEqual([100, 120, 7]);
  expect([joined(null, { from: 1, to: 2 }), joined({ from: 5, to: 9 }, { from: 1, to: 6 })]).toEqual([
    { from: 1, to: 2 },
    { from: 1, to: 9 },
  ]);
});

test("what is said of a range: its steps, busy and idle time, kernels", () => {
  const steps = [0, 100, 200].map((start_ns, at) => ({ name: String(at + 5), start_ns, end_ns: start_ns + 100 }));
  const stepsShown = (from: number, to: number) => stepsText(steps, { from, to });
  expect([
    stepsShown(10, 20),
    stepsShown(100, 200),
    stepsShown(50, 250),
    stepsShown(0, 300),
    stepsShown(90, 110),
    stepsShown(300, 400),
  ]).toEqual([
    "in step 5",
    "all of step 6",
    "steps 5 to 7, 1 whole",
    "steps 5 to 7, all whole",
    "steps 5 to 6, none whole",
    "outside the steps",
  ]);
  expect(stepsText([], WINDOW)).toBe("");
  const busy = {
    start_ns: 0,
    end_ns: 1000,
    of: "gpu" as const,
    devices: 2,
    busy_ns: [500, 1000],
    kernels: [3, 4],
    most: [],
  };
  const most = [
    { name: "gemm", count: 5, total_ns: 900 },
    { name: "add<float>", count: 2, total_ns: 90 },
  ];
  expect(rangeFacts(WHOLE, { ...busy, most }).map(({ label, value }) => `${label}: ${value}`)).toEqual([
    "2 GPUs busy, mean: 750\u00a0ns, 75.0\u00a0% of it",
    "idle: 250\u00a0ns",
    ": 7\u00a0kernels start in it",
    "most time in: gemm 900\u00a0ns, add<float> 90\u00a0ns",
  ]);
  expect(rangeFacts(WHOLE, { ...busy, of: "host", devices: 1 }).map(({ label }) => label)).toEqual(["Host in ops"]);
});
