import { h } from "preact";
import { render } from "preact-render-to-string";
import { expect, test } from "vitest";
import type { EventDetail, TimelineResult } from "../src/api.gen";
import { boxAt, type Boxes, hit, inSight, rowKey } from "../src/views/timeline/data/boxes";
import { boxBeside, type Direction } from "../src/views/timeline/input/neighbours";
import { inSightText, stepTitle, tableOf } from "../src/views/timeline/figures";
import { fitted, unscoped } from "../src/views/timeline/paint/box_names";
import { commandOf, wheelCommand } from "../src/views/timeline/input/commands";
import { layoutOf, mergedTracks, placeAt, rowTop } from "../src/views/timeline/layout";
import { answered } from "../src/views/timeline/data/loading";
import { detailFor, cachedPages, layers, type Page, wanted } from "../src/views/timeline/data/pages";
import { setPixels, stripFor } from "../src/charts/canvas/pixel_row";
import { walkRow } from "../src/views/timeline/paint/boxes";
import { paintScene } from "../src/views/timeline/paint/paint";
import { contrast, mixed, paletteOf, pixelOf, shadeOf } from "../src/views/timeline/paint/palette";
import { queuePixels } from "../src/views/timeline/paint/queue";
import { Panel } from "../src/views/timeline/panel";
import { boxUnder, tipOf } from "../src/views/timeline/input/hit";
import { AXIS_PX, GUTTER_PX, type Scene } from "../src/views/timeline/scene";
import { matcherOf, matchCount, nextMatch } from "../src/views/timeline/data/search";
import { stepAt, stepInSight, wholeOf } from "../src/views/timeline/data/steps";
import { around, panned, showing, timeScale, visibleOf, within, withNeighbours, zoomed } from "../src/time_range";
import { scaleFor } from "../src/format";
import { boxes, page } from "./fixtures/timeline";

const WHOLE = { from: 0, to: 1000 };
const layer = (of: Boxes, from = of.covers.from, to = of.covers.to) => ({ boxes: of, from, to });

// What is in sight ----------------------------------------------------------------------------------------------------

test("zooming keeps what lies under the pointer, and stays within what was recorded", () => {
  expect(zoomed({ from: 200, to: 600 }, 300, 0.5, WHOLE)).toEqual({ from: 250, to: 450 });
  expect(zoomed({ from: 200, to: 600 }, 300, 10, WHOLE)).toEqual(WHOLE);
  expect(zoomed({ from: 0, to: 200 }, 50, 0.001, WHOLE)).toEqual({ from: 25, to: 125 });
});

test("panning stops at the first and the last event", () => {
  expect(panned({ from: 200, to: 600 }, 150, WHOLE)).toEqual({ from: 350, to: 750 });
  expect(panned({ from: 200, to: 600 }, -900, WHOLE)).toEqual({ from: 0, to: 400 });
  expect(panned({ from: 200, to: 600 }, 900, WHOLE)).toEqual({ from: 600, to: 1000 });
});

test("a step shows a little of its neighbours, the first and the last what there is", () => {
  expect(withNeighbours({ from: 300, to: 500 }, WHOLE)).toEqual({ from: 296, to: 504 });
  expect(withNeighbours(WHOLE, WHOLE)).toEqual(WHOLE);
});

test("a jump moves only as far and as wide as it must", () => {
  const visible = { from: 0, to: 200 };
  expect(showing(visible, { from: 20, to: 30 }, WHOLE)).toBe(visible);
  expect(showing(visible, { from: 500, to: 520 }, WHOLE)).toEqual({ from: 410, to: 610 });
  expect(showing(visible, { from: 400, to: 800 }, WHOLE)).toEqual({ from: 350, to: 850 });
  expect(around({ from: 400, to: 600 }, WHOLE)).toEqual({ from: 200, to: 800 });
});

test("what the address zooms to is moved into the recording; what lies outside it is left out", () => {
  expect(visibleOf({ from: 100, to: 400 }, WHOLE)).toEqual({ from: 100, to: 400 });
  expect(visibleOf({ from: -50, to: 150 }, { from: -100, to: 300 })).toEqual({ from: -50, to: 150 });
  expect([visibleOf(undefined, WHOLE), visibleOf({ from: 5000, to: 6000 }, WHOLE)]).toEqual([null, null]);
  expect(within({ from: -50, to: 150 }, WHOLE)).toEqual({ from: 0, to: 200 });
});

test("pixels and nanoseconds are each other's inverse", () => {
  const { x, ns, ns_per_px } = timeScale({ from: 100, to: 300 }, 50, 150);
  expect([x(100), x(300), ns(100), ns_per_px]).toEqual([50, 150, 200, 2]);
});

// Boxes ---------------------------------------------------------------------------------------------------------------

const ROW = boxes("stream | aa bbb  c");
const PLACE = ROW.rows.get(rowKey(0, 0))!;

test("a page becomes rows in time order, at absolute times", () => {
  const late = boxes(
    `
    thread | aaaa b
    thread |  cc
    stream |   kk`,
    { start_ns: 500 },
  );
  expect([...late.rows]).toEqual([
    [rowKey(0, 0), { first: 0, end: 2 }],
    [rowKey(0, 1), { first: 2, end: 3 }],
    [rowKey(1, 0), { first: 3, end: 4 }],
  ]);
  expect(boxAt(late, 2)).toEqual({ track: 0, row: 1, event: 2, count: 1, from: 510, to: 530, name: "c" });
});

test("a page without a box has no row", () => {
  expect([...boxes("stream |     ").rows]).toEqual([]);
});

test("of a row only what touches the range is walked", () => {
  expect(inSight(ROW, PLACE, { from: 20, to: 31 })).toEqual({ first: 1, end: 2 });
  expect(inSight(ROW, PLACE, { from: 19, to: 31 })).toEqual({ first: 0, end: 2 });
  expect(inSight(ROW, PLACE, { from: 60, to: 70 })).toEqual({ first: 2, end: 2 });
  expect(inSight(ROW, PLACE, { from: 0, to: 1000 })).toEqual({ first: 0, end: 3 });
});

test("the pointer means the box under it, else the nearest within reach", () => {
  const at = (ns: number) => hit(ROW, PLACE, ns, 6);
  expect([at(15), at(22), at(28), at(40), at(70), at(76), at(88), at(97)]).toEqual([0, 0, 1, 1, null, 2, 2, null]);
});

// Pages ---------------------------------------------------------------------------------------------------------------

const kept = (asked_ns: number, from: number, to: number): Page => ({
  asked_ns,
  boxes: { ...ROW, covers: { from, to } },
});

test("detail is the power of two that a pixel can show", () => {
  expect([0.2, 1, 3, 4, 1000].map(detailFor)).toEqual([1, 1, 2, 4, 512]);
});

test("a page is asked for with its surroundings, and again only when it does not hold what is in sight", () => {
  const whole = { from: 0, to: 1_000_000 };
  const visible = { from: 300_000, to: 400_000 };
  const next = wanted([], visible, 100, whole)!;
  expect(next).toEqual({ from: 245_760, to: 458_752, detail_ns: 64 });
  const page = kept(next.detail_ns, next.from, next.to);
  expect(wanted([page], { from: 250_000, to: 350_000 }, 100, whole)).toBeNull();
  expect(wanted([page], { from: 240_000, to: 340_000 }, 100, whole)).not.toBeNull();
  expect(wanted([page], visible, 50, whole)).toMatchObject({ detail_ns: 32 });
  expect(wanted([page], visible, 500, whole)).toBeNull();
});

test("a page that reaches the end of the recording holds what lies beyond it", () => {
  expect(wanted([kept(1, 0, 1000)], { from: -20, to: 1000 }, 1, WHOLE)).toBeNull();
});

test("each instant is drawn once, from the page that suits best; a coarse one fills what is not there yet", () => {
  const coarse = kept(64, 0, 1000);
  const fine = kept(8, 200, 500);
  const found = layers([coarse, fine], { from: 100, to: 600 }, 10);
  expect(found.map(({ from, to, boxes: of }) => [from, to, of === fine.boxes ? "fine" : "coarse"])).toEqual([
    [100, 200, "coarse"],
    [200, 500, "fine"],
    [500, 600, "coarse"],
  ]);
  expect(layers([fine], { from: 600, to: 700 }, 10)).toEqual([]);
});

test("far out, the page of that detail goes before a finer one", () => {
  const [coarse, fine] = [kept(64, 0, 1000), kept(1, 0, 1000)];
  expect(layers([fine, coarse], WHOLE, 100).map((each) => each.boxes)).toEqual([coarse.boxes]);
});

test("the oldest pages go first", () => {
  const pages = Array.from({ length: 30 }, (_, at) => kept(1, at, at + 1)).reduce<Page[]>(cachedPages, []);
  expect([pages.length, pages[0]!.boxes.covers.from, pages.at(-1)!.boxes.covers.from]).toEqual([24, 6, 29]);
});

test("a failure leaves the picture, and an answer takes the failure away", () => {
  const asked = { from: 0, to: 90, detail_ns: 1 };
  const problem = { problem: "The trace is gone", file: "a", hint: "Put it back." };
  const before = { pages: [], tracks: [], waiting: null, problem: null, gone: false };
  const ready = answered(before, asked, { kind: "ready", value: page("stream | aa") });
  expect(ready).toMatchObject({
    pages: [{ asked_ns: 1, boxes: { covers: { from: 0, to: 20 } } }],
    tracks: [{ label: "The stream" }],
  });
  expect(answered(ready, asked, { kind: "problem", value: problem })).toEqual({ ...ready, problem });
  expect(answered(ready, asked, { kind: "gone" })).toEqual({ ...ready, gone: true });
  expect(
    answered({ ...ready, problem, gone: true }, asked, { kind: "ready", value: page("stream | aa") }),
  ).toMatchObject({ problem: null, gone: false });
});

// Tracks --------------------------------------------------------------------------------------------------------------

const TWO = `
  thread | aaaa b
  thread |  cc
  calls  |  l
  stream |   kk m`;

test("groups have a heading, the queue stands before the streams, calls under their thread need no name", () => {
  const layout = layoutOf(boxes(TWO).tracks, true, new Set());
  const inPanel = layout.places.map((place) => [
    place.top,
    place.height,
    place.kind === "heading" ? place.text : place.kind === "track" ? place.name : place.kind,
  ]);
  expect(inPanel).toEqual([
    [0, 22, "Process 1"],
    [22, 36, "The thread"],
    [62, 18, "Its runtime calls"],
    [84, 38, "queue"],
    [126, 22, "GPU 0"],
    [148, 18, "The stream"],
  ]);
  expect(layout.height).toBe(170);
  expect(layoutOf(boxes(TWO).tracks, false, new Set()).places.map(({ kind }) => kind)).not.toContain("queue");
});

test("a folded track keeps its rows, thinly; a deep one is folded by itself", () => {
  const layout = layoutOf(boxes(TWO).tracks, false, new Set([0]));
  expect([
    rowTop(layout, 0, 0),
    rowTop(layout, 0, 1),
    rowTop(layout, 0, 2),
    rowTop(layout, 9, 0),
    layout.tracks.get(0)!.height,
  ]).toEqual([22, 28, null, null, 18]);
  const deep = (toggledTracks: number[]) =>
    layoutOf([{ id: 0, kind: "thread", group: "", label: "", rows: 30 }], false, new Set(toggledTracks)).height - 4;
  expect([deep([]), deep([0])]).toEqual([120, 540]);
});

test("a height names the place there, a gap names none", () => {
  const layout = layoutOf(boxes(TWO).tracks, false, new Set());
  expect([0, 30, 59, 62, 9999].map((y) => placeAt(layout, y)?.kind)).toEqual([
    "heading",
    "track",
    undefined,
    "track",
    undefined,
  ]);
});

test("tracks of pages are one list that never shrinks, so that nothing moves", () => {
  const track = (id: number, rows = 1) => ({ id, kind: "stream", group: "GPU 0", label: `Stream ${id}`, rows });
  const known = mergedTracks([], [track(1), track(2, 3), track(3)]);
  expect(mergedTracks(known, [track(1), track(3)])).toBe(known);
  expect(mergedTracks(known, [track(1, 2), track(3), track(4)])).toEqual([
    track(1, 2),
    track(2, 3),
    track(3),
    track(4),
  ]);
});

// Names ---------------------------------------------------------------------------------------------------------------

const letters = (text: string) => 6 * text.length;

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

// Search and keys -----------------------------------------------------------------------------------------------------

test("a search lights boxes in any case, counts those in sight and goes round", () => {
  const all = [layer(boxes(TWO))];
  const matches = matcherOf(" K ")!;
  expect([matcherOf("  "), matchCount(all, matches), matchCount([layer(boxes(TWO), 0, 15)], matches)]).toEqual([
    null,
    1,
    0,
  ]);
  const both: ReturnType<typeof matcherOf> = (of) => Uint8Array.from(of.names, (name) => Number("bk".includes(name)));
  const order: (string | undefined)[] = [];
  for (let here = nextMatch(all, both, null, false); order.length < 3; here = nextMatch(all, both, here, false))
    order.push(here?.name);
  expect(order).toEqual(["k", "b", "k"]);
  expect(nextMatch(all, both, null, true)?.name).toBe("b");
  expect(nextMatch(all, matcherOf("nothing")!, null, false)).toBeNull();
});

test("a box that crosses two pages is counted once", () => {
  const of = boxes("stream | aaaaaa");
  expect(matchCount([layer(of, 0, 30), layer(of, 30, 60)], matcherOf("a")!)).toBe(1);
});

test("arrow keys go along a row and to the rows that have something there", () => {
  const all = [layer(boxes(TWO))];
  const layout = layoutOf(all[0]!.boxes.tracks, false, new Set());
  const visible = { from: 0, to: 70 };
  const walk = (...ways: Direction[]) =>
    ways.reduce<ReturnType<typeof boxBeside>>(
      (here, direction) => boxBeside(all, layout, here, direction, visible) ?? here,
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
  expect(boxBeside(all, layout, { ...boxAt(all[0]!.boxes, 0), from: 900, to: 950 }, "right", visible)?.name).toBe("a"); // gone out of sight
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

// Steps, words, colours -----------------------------------------------------------------------------------------------

const RESULT: TimelineResult = {
  first_ns: 0,
  last_ns: 4_000_000,
  steps: [
    { name: "4", start_ns: 0, end_ns: 2_000_000 },
    { name: "5", start_ns: 2_000_000, end_ns: 3_000_000 },
    { name: "6", start_ns: 3_000_000, end_ns: 4_200_000 },
  ],
};

test("the step is the one of the address, else that of the zoom, else the one of median length", () => {
  expect(stepAt(RESULT, { step: "5" }, null)).toBe(1);
  expect(stepAt(RESULT, {}, { from: 100, to: 200 })).toBe(0);
  expect([stepAt(RESULT, { step: "99" }, null), stepAt({ ...RESULT, steps: [] }, {}, null)]).toEqual([2, null]);
  expect(wholeOf(RESULT)).toEqual({ from: 0, to: 4_200_000 });
});

test("another step is looked at only when nothing of this one is in sight", () => {
  const come = (from: number, to: number) => stepInSight(RESULT, RESULT.steps[0]!, { from, to }).name;
  expect([come(1_900_000, 2_900_000), come(2_100_000, 3_900_000), come(5_000_000, 6_000_000)]).toEqual(["4", "6", "4"]);
});

test("the title tells the step and how much of it is in sight", () => {
  const [step] = RESULT.steps as [TimelineResult["steps"][0]];
  expect(stepTitle(step)).toBe("Step 4, 2.0\u00a0ms");
  expect(inSightText(step, { from: -10, to: 2_000_010 })).toBe("all of it in sight");
  expect(inSightText(step, { from: 500_000, to: 2_500_000 })).toBe("1.5\u00a0ms of it in sight");
  expect(inSightText(step, { from: 2_500_000, to: 3_500_000 })).toBe("in sight: 1.0\u00a0ms after it");
});

test("the table holds every box in sight, from the step's start", () => {
  const of = boxes("stream | aa  k");
  expect(tableOf([layer(of, 30, 60)], layoutOf(of.tracks, false, new Set()), RESULT.steps[0]!)).toEqual({
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

const TOKENS: Readonly<Record<string, string>> = {
  "--surface": "#ffffff",
  "--ink": "#1d1d1b",
  "--sunken": "#f4f4f2",
  "--font": "Roboto",
};
const PALETTE = paletteOf(
  (token) => TOKENS[token] ?? (token === "--c-cpu" ? "#228833" : token === "--c-copy" ? "#81c4e7" : "#888"),
);

test("a name has one shade everywhere, and words can be read on each", () => {
  expect([mixed("#888", "#ffffff", 0.5), mixed("#000000", "#ffffff", 1)]).toEqual(["#c4c4c4", "#ffffff"]);
  expect([shadeOf("aten::add"), shadeOf("aten::add") < 3]).toEqual([shadeOf("aten::add"), true]);
  const worst = [...PALETTE.fills.values()]
    .flat()
    .map(({ plain, ink }) => contrast(plain, ink))
    .reduce((least, each) => Math.min(least, each));
  expect(worst).toBeGreaterThanOrEqual(4.5);
});

// The picture ---------------------------------------------------------------------------------------------------------

/** Writes down what is drawn within the tracks. */
function pen() {
  const drawn: string[] = [];
  const write =
    (kind: string) =>
    (...at: unknown[]) =>
      void drawn.push([kind, ...at].join(" "));
  const own = {
    fillStyle: "",
    fillText: write("text"),
    fillRect: (...at: number[]) => void drawn.push(["rect", own.fillStyle, ...at].join(" ")),
    getTransform: () => ({ a: 1 }),
    measureText: (text: string) => ({ width: 6 * text.length }),
  };
  const quiet = new Proxy(own, {
    get: (target, key) => (key in target ? target[key as keyof typeof target] : () => undefined),
    set: (target, key, value) => Reflect.set(target, key, value),
  });
  return { pen: quiet as unknown as CanvasRenderingContext2D, drawn };
}

function scene(of: Boxes, more: Partial<Scene> = {}): Scene {
  const visible = of.covers;
  const width = GUTTER_PX + 100;
  return {
    width,
    height: 200,
    scroll: 0,
    visible,
    time: timeScale(visible, GUTTER_PX, width),
    layout: layoutOf(of.tracks, false, new Set()),
    layers: [layer(of)],
    palette: PALETTE,
    steps: [],
    step: { name: "1", start_ns: 0, end_ns: 100 },
    scale: scaleFor(100, "ns"),
    matches: null,
    pointed: null,
    pointer_ns: null,
    chosen: null,
    band: null,
    ...more,
  };
}

/** Boxes of the row at a height: not the ground below them. */
const rectsAt = (drawn: readonly string[], top: number) =>
  drawn.filter(
    (each) =>
      each.startsWith("rect #") &&
      each.split(" ")[3] === String(top) &&
      each.split(" ")[5] === "16" &&
      !each.includes(` ${PALETTE.sunken} `),
  );

test("boxes that share a pixel are drawn once, with or without a search", () => {
  const many = boxes(`stream | ${"ab".repeat(2000)}`); // 40 boxes in a pixel
  const pixels = (more: Partial<Scene> = {}) => {
    const set: [number, number, number][] = [];
    walkRow(scene(many, more), layer(many), rowKey(0, 0), 1, {
      narrow: (from, to, pixel) => void set.push([from, to, pixel]),
      wide: () => expect.fail(),
    });
    return set;
  };
  expect(pixels().length).toBeLessThanOrEqual(101);
  expect(new Set(pixels().map(([from]) => from)).size).toBeGreaterThanOrEqual(100);
  const found = PALETTE.fills.get("kernel")![shadeOf("b")]!.plainPixel;
  const matches = new Map(pixels({ matches: matcherOf("b") }).map(([from, , pixel]) => [from, pixel]));
  expect([...matches.values()].filter((pixel) => pixel !== found)).toEqual([]); // the faded ones beside it do not hide it
});

test("a strip holds pixels as a canvas stores them", () => {
  const strip = stripFor(4);
  setPixels(strip, 1, 3, pixelOf("#102030"));
  expect([...new Uint8Array(strip.pixels.buffer)]).toEqual([0, 0, 0, 0, 16, 32, 48, 255, 16, 32, 48, 255, 0, 0, 0, 0]);
});

test("a box is as wide as its time, and what a search did not find fades", () => {
  const of = boxes("stream | aaaa    kk");
  const { pen: own, drawn } = pen();
  paintScene(own, scene(of, { matches: matcherOf("k") }));
  const [plain, dim] = [
    PALETTE.fills.get("kernel")![shadeOf("k")]!.plain,
    PALETTE.fills.get("kernel")![shadeOf("a")]!.dim,
  ];
  expect(rectsAt(drawn, AXIS_PX + 22)).toEqual([
    `rect ${dim} ${GUTTER_PX} ${AXIS_PX + 22} 39 16`,
    `rect ${plain} ${GUTTER_PX + 80} ${AXIS_PX + 22} 19 16`,
  ]);
});

test("a point of the picture names the box there, and its tip says what it is", () => {
  const of = boxes(TWO);
  const at = scene(of);
  const under = (ns: number, y: number) => boxUnder(at, at.time.x(ns), AXIS_PX + y)?.name ?? null;
  expect([under(15, 25), under(15, 45), under(35, 152), under(15, 5), under(45, 60)]).toEqual([
    "a",
    "c",
    null,
    null,
    null,
  ]);
  expect(boxUnder(at, 20, AXIS_PX + 25)).toBeNull();
  expect(
    tipOf({ ...boxAt(of, 0), count: 12 }, at.layout, 0).rows.map(({ name, value }) => `${name}: ${value}`),
  ).toEqual([
    "12 events within: 40\u00a0ns",
    "Start in the step: 0\u00a0ms",
    "Process 1: The thread",
    "The name is the longest’s: zoom in to part them",
  ]);
});

test("the queue is its mean and its peak in each pixel, from the page that is drawn there", () => {
  const of = {
    ...boxes("stream | aaaaaaaaaa"),
    queue: { bin_ns: 25, mean_permille: [1000, 3000, 0, 500], peak: [2, 7, 0, 1] },
  };
  const { mean, peak } = queuePixels({
    layers: [layer(of)],
    time: timeScale({ from: 0, to: 100 }, GUTTER_PX, GUTTER_PX + 2),
    width: GUTTER_PX + 2,
  });
  expect([[...mean], [...peak]]).toEqual([
    [2, 0.25],
    [7, 1],
  ]);
  const close = queuePixels({
    layers: [layer(of)],
    time: timeScale({ from: 0, to: 50 }, GUTTER_PX, GUTTER_PX + 4),
    width: GUTTER_PX + 4,
  });
  expect([...close.mean]).toEqual([1, 1, 3, 3]);
});

// The chosen event ----------------------------------------------------------------------------------------------------

const DETAIL: EventDetail = {
  event: 7,
  name: "gemm<float>",
  track: 3,
  row: 0,
  start_ns: 1_500,
  end_ns: 4_920,
  facts: [
    { label: "Grid", value: { value: "32 x 1 x 1", unit: "text" } },
    { label: "Duration", value: { value: 3_420, unit: "ns" } },
  ],
  links: [
    { role: "Launched by", event: 5, name: "cudaLaunchKernel", track: 2, row: 0, start_ns: 1_000, end_ns: 1_400 },
  ],
  gap_start_ns: 500,
  why_gap: { template: "The GPU was idle for {gap}.", values: { gap: { value: 1_000, unit: "ns" } } },
};

test("the panel tells facts, ties and why the GPU was idle before", () => {
  const html = render(
    h(Panel, {
      asked: { event: 7, answer: { kind: "ready", value: DETAIL } },
      together: 12,
      origin_ns: 1_000,
      go: () => {},
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
    "the longest of 12 events",
    "Start in the step\n500\u00a0ns",
    "Grid\n32 x 1 x 1",
    "Duration\n3.42\u00a0µs",
    "The GPU was idle for 1\u00a0µs.",
    "Launched by\ncudaLaunchKernel\n400\u00a0ns",
  ]) {
    expect(words).toContain(inPanel);
  }
});

test("without an event the panel says how to get one, and what went wrong where it did", () => {
  const panel = (asked: Parameters<typeof Panel>[0]["asked"]) =>
    render(h(Panel, { asked, together: 1, origin_ns: 0, go: () => {}, zoom: () => {}, close: () => {} }));
  expect(panel(null)).toContain("Press an event");
  expect(
    panel({
      event: 1,
      answer: { kind: "problem", value: { problem: "The trace is gone", file: "", hint: "Put it back." } },
    }),
  ).toContain("The trace is gone. Put it back.");
});
