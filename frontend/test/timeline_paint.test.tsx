import { expect, test, vi } from "vitest";
import type { EventDetail } from "../src/api.gen";
import { setPixels, stripFor } from "../src/charts/canvas/canvas";
import { pixelOf, shadeOf } from "../src/charts/canvas/palette";
import { scaleFor } from "../src/format";
import { timeScale } from "../src/time_range";
import { type Boxes, boxAt, rowKey } from "../src/views/timeline/data/boxes";
import { matcherOf } from "../src/views/timeline/data/found";
import { boxUnder, tipOf } from "../src/views/timeline/input/gestures";
import { layoutOf } from "../src/views/timeline/layout";
import { walkRow } from "../src/views/timeline/paint/boxes";
import { bordersOf, paintOver, paintScene, queuePixels, strengthOf } from "../src/views/timeline/paint/paint";
import { AXIS_PX, GUTTER_PX, type Scene } from "../src/views/timeline/scene";
import { NO_CHOICES } from "../src/views/timeline/tracks";
import { all } from "./fixtures/all";
import { boxes, layer, PALETTE, TWO } from "./fixtures/timeline";

/** Records what is drawn within the tracks. */
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
    layout: layoutOf(of.tracks, false, NO_CHOICES),
    layers: [layer(of)],
    palette: PALETTE,
    steps: [],
    step: { name: "1", start_ns: 0, end_ns: 100 },
    scale: scaleFor(100, "ns"),
    ...all(null, "matches pointed head pointer_ns chosen range band"),
    off: new Set(),
    ...more,
  };
}

/** The boxes of the row at this height, without the background below them. */
const rectsAt = (drawn: readonly string[], top: number) =>
  drawn.filter(
    (each) =>
      each.startsWith("rect #") &&
      each.split(" ")[3] === String(top) &&
      each.split(" ")[5] === "16" &&
      !each.includes(` ${PALETTE.sunken} `),
  );

test("boxes that share a pixel are drawn once, with or without a search", () => {
  const many = boxes(`stream | ${"ab".repeat(2000)}`); // 40 boxes per pixel
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
  // The faded boxes next to the matches do not hide them.
  expect([...matches.values()].filter((pixel) => pixel !== found)).toEqual([]);
});

test("a row holds pixels as a canvas stores them", () => {
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

test("a colour that the legend turns off is dimmed, and keeps its place", () => {
  const of = boxes("stream | aaaa    kk");
  const { pen: own, drawn } = pen();
  paintScene(own, scene(of, { off: new Set(["kernel"]) }));
  const dim = (name: string) => PALETTE.fills.get("kernel")![shadeOf(name)]!.dim;
  expect(rectsAt(drawn, AXIS_PX + 22)).toEqual([
    `rect ${dim("a")} ${GUTTER_PX} ${AXIS_PX + 22} 39 16`,
    `rect ${dim("k")} ${GUTTER_PX + 80} ${AXIS_PX + 22} 19 16`,
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

const stepsOf = (count: number, long: number) =>
  Array.from({ length: count }, (_, at) => ({ name: String(at), start_ns: at * long, end_ns: (at + 1) * long }));

test("borders of steps fade as steps get narrow, and hundreds of them are left out", () => {
  const time = timeScale({ from: 0, to: 1000 }, 0, 1000);
  expect([4, 5, 22.5, 40, 900].map(strengthOf)).toEqual([0, 0.15, 0.575, 1, 1]);
  expect(bordersOf(stepsOf(553, 1.8), time)).toEqual([]);
  expect(bordersOf(stepsOf(2, 100), time)).toEqual([0, 100, 200].map((x) => ({ x, strength: 1 })));
  const uneven = [...stepsOf(3, 2), { name: "long", start_ns: 6, end_ns: 106 }];
  expect(bordersOf(uneven, time)).toEqual([6, 106].map((x) => ({ x, strength: 1 })));
  expect(bordersOf(stepsOf(20, 100), timeScale({ from: 950, to: 1050 }, 0, 100))).toEqual([{ x: 50, strength: 1 }]);
});

test("borders lie behind the boxes", () => {
  const of = boxes("stream | aaaaaaaaaa");
  const { pen: own, drawn } = pen();
  paintScene(own, scene(of, { steps: stepsOf(2, 50), palette: { ...PALETTE, firm: "firm" } }));
  const border = drawn.findIndex((each) => each.startsWith(`rect firm ${GUTTER_PX + 50}`));
  const box = drawn.indexOf(rectsAt(drawn, AXIS_PX + 22)[0]!);
  expect([border >= 0, border < box]).toEqual([true, true]);
});

test("the line of a measured range does not strike the length of an idle time", () => {
  const of = boxes("stream | aaa.......bbbbbbbbbb");
  vi.stubGlobal(
    "OffscreenCanvas",
    class {
      getContext = () => pen().pen;
    },
  );
  const { pen: own, drawn } = pen();
  const width = GUTTER_PX + 400;
  const chosen = { track: 0, row: 0, start_ns: 100, end_ns: 200, gap_start_ns: 30, why_gap: null, links: [] };
  const shown = { width, time: timeScale(of.covers, GUTTER_PX, width), range: { from: 33, to: 95 } };
  paintOver(own, scene(of, { ...shown, chosen: chosen as unknown as EventDetail }));
  const line = drawn.findIndex((each) => each === `rect ${PALETTE.ink} ${GUTTER_PX + 66} 0 1 200`);
  const text = drawn.findIndex((each) => each.startsWith("text Idle for"));
  const x = Number(drawn[text]!.split(" ").at(-2));
  expect([line >= 0, line < text, x < GUTTER_PX + 70]).toEqual([true, true, true]);
});

test("no label of the axis is cut off at an end of the picture", () => {
  const of = boxes("thread | aaaaaaaaaa");
  const { pen: to, drawn } = pen();
  const shown = scene(of);
  paintScene(to, {
    ...shown,
    visible: { from: 0, to: 100 },
    time: timeScale({ from: 0, to: 100 }, GUTTER_PX, shown.width),
  });
  const labels = drawn.map((each) => /^text (\d+).* ([\d.]+) 11$/.exec(each)).filter((each) => each !== null);
  expect(labels.length).toBeGreaterThan(1);
  for (const [, text, x] of labels) {
    expect(Number(x) + 3 * text!.length).toBeLessThanOrEqual(shown.width);
  }
});
