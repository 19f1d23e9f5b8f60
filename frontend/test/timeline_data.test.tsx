import { expect, test } from "vitest";
import type { Track } from "../src/api.gen";
import { SILENT } from "../src/server/client";
import { around, panned, showing, timeScale, visibleOf, within, withNeighbours, zoomed } from "../src/time_range";
import { boxAt, hit, inSight, rowKey } from "../src/views/timeline/data/boxes";
import { answered, cachedPages, detailFor, layers, nextPart, type Page } from "../src/views/timeline/data/pages";
import { layoutOf, mergedTracks, placeAt, rowTop } from "../src/views/timeline/layout";
import { NO_CHOICES } from "../src/views/timeline/tracks";
import { ready } from "./fixtures/pages";
import { boxes, page, TWO } from "./fixtures/timeline";

const WHOLE = { from: 0, to: 1000 };
const ROW = boxes("stream | aa bbb  c");
const PLACE = ROW.rows.get(rowKey(0, 0))!;

const kept = (detail_ns: number, from: number, to: number): Page => ({
  detail_ns: detail_ns,
  folded: true,
  boxes: { ...ROW, covers: { from, to } },
});

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
  expect(boxAt(late, 2)).toEqual({
    track: 0,
    row: 1,
    event: 2,
    count: 1,
    from: 510,
    to: 530,
    name: "c",
    fullName: "c",
  });
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

test("detail is the power of two that a pixel can show", () => {
  expect([0.2, 1, 3, 4, 1000].map(detailFor)).toEqual([1, 1, 2, 4, 512]);
});

test("a page is asked for with its surroundings, and again only when it does not hold what is visible", () => {
  const whole = { from: 0, to: 1_000_000 };
  const visible = { from: 300_000, to: 400_000 };
  const next = nextPart([], visible, 100, whole)!;
  expect(next).toEqual({ from: 245_760, to: 458_752, detail_ns: 64 });
  const page = kept(next.detail_ns, next.from, next.to);
  expect(nextPart([page], { from: 250_000, to: 350_000 }, 100, whole)).toBeNull();
  expect(nextPart([page], { from: 240_000, to: 340_000 }, 100, whole)).not.toBeNull();
  expect(nextPart([page], visible, 50, whole)).toMatchObject({ detail_ns: 32 });
  expect(nextPart([page], visible, 500, whole)).toBeNull();
});

test("a page that reaches the end of the recording holds what lies beyond it", () => {
  expect(nextPart([kept(1, 0, 1000)], { from: -20, to: 1000 }, 1, WHOLE)).toBeNull();
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
  const part = { from: 0, to: 90, detail_ns: 1, folded: true };
  const problem = { problem: "The trace is gone", file: "a", hint: "Put it back." };
  const gone = { problem: SILENT, retry_ms: 7_000 };
  const before = { pages: [], tracks: [], waiting: null, problem: null, gone: null };
  const shown = answered(before, part, ready(page("stream | aa")), 0);
  expect(shown).toMatchObject({
    pages: [{ detail_ns: 1, boxes: { covers: { from: 0, to: 20 } } }],
    tracks: [{ label: "The stream" }],
  });
  expect(answered(shown, part, { kind: "problem", value: problem }, 0)).toEqual({ ...shown, problem });
  expect(answered(shown, part, { kind: "gone", value: SILENT }, 7_000)).toEqual({
    ...shown,
    gone,
  });
  expect(answered({ ...shown, problem, gone }, part, ready(page("stream | aa")), 0)).toMatchObject({
    problem: null,
    gone: null,
  });
});

test("pages of folded and of whole stacks never stand together: their rows are others", () => {
  const part = { from: 0, to: 90, detail_ns: 1, folded: true };
  const before = { pages: [], tracks: [], waiting: null, problem: null, gone: null };
  const deep = answered(before, { ...part, folded: false }, ready(page("thread | aa\nthread | b")), 0);
  const folded = answered(deep, part, ready(page("thread | aa")), 0);
  expect([deep.tracks[0]!.rows, folded.tracks[0]!.rows, folded.pages.map((each) => each.folded)]).toEqual([
    2,
    1,
    [true],
  ]);
});

test("a trace that is read again and is no further changes nothing, so that nothing is drawn", () => {
  const part = { from: 0, to: 90, detail_ns: 1, folded: true };
  const waiting = { state: "reading" as const, file: "w", file_number: 1, file_count: 1, progress: null };
  const before = { pages: [], tracks: [], waiting, problem: null, gone: null };
  expect(answered(before, part, { kind: "waiting", value: { ...waiting } }, 0)).toBe(before);
  const gone = { problem: SILENT, retry_ms: 7_000 };
  expect(answered({ ...before, gone }, part, { kind: "waiting", value: waiting }, 0)).toEqual(before);
});

test("groups have a heading, the queue stands under the streams, calls under their thread need no name", () => {
  const layout = layoutOf(boxes(TWO).tracks, true, NO_CHOICES);
  const inPanel = layout.places.map((place) => [
    place.top,
    place.height,
    place.kind === "heading" ? place.text : place.kind === "track" ? place.name : place.kind,
  ]);
  expect(inPanel).toEqual([
    [0, 22, "Process 1"],
    [22, 36, "The thread"],
    [62, 18, "Its runtime calls"],
    [84, 22, "GPU 0"],
    [106, 18, "The stream"],
    [128, 38, "queue"],
  ]);
  expect(layout.height).toBe(170);
  expect(layoutOf(boxes(TWO).tracks, false, NO_CHOICES).places.map(({ kind }) => kind)).not.toContain("queue");
});

test("a folded track keeps its rows, thinly; a deep one is folded by itself", () => {
  const layout = layoutOf(boxes(TWO).tracks, false, { ...NO_CHOICES, folds: new Set([0]) });
  expect([
    rowTop(layout, 0, 0),
    rowTop(layout, 0, 1),
    rowTop(layout, 0, 2),
    rowTop(layout, 9, 0),
    layout.tracks.get(0)!.height,
  ]).toEqual([22, 28, null, null, 18]);
  const deep = (toggledTracks: number[]) =>
    layoutOf([{ id: 0, kind: "thread", group: "", label: "", rows: 30, pinned: false, all_rows: 30 }], false, {
      ...NO_CHOICES,
      folds: new Set(toggledTracks),
    }).height - 4;
  expect([deep([]), deep([0])]).toEqual([120, 540]);
});

test("a height names the place there, a gap names none", () => {
  const layout = layoutOf(boxes(TWO).tracks, false, NO_CHOICES);
  expect([0, 30, 59, 62, 9999].map((y) => placeAt(layout, y)?.kind)).toEqual([
    "heading",
    "track",
    undefined,
    "track",
    undefined,
  ]);
});

test("tracks of pages are one list that never shrinks, so that nothing moves", () => {
  const track = (id: number, rows = 1): Track => ({
    id,
    kind: "stream",
    group: "GPU 0",
    label: `Stream ${id}`,
    rows,
    pinned: true,
    all_rows: rows,
  });
  const known = mergedTracks([], [track(1), track(2, 3), track(3)]);
  expect(mergedTracks(known, [track(1), track(3)])).toBe(known);
  expect(mergedTracks(known, [track(1, 2), track(3), track(4)])).toEqual([
    track(1, 2),
    track(2, 3),
    track(3),
    track(4),
  ]);
});
