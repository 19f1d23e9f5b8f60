/** The place of a card's evidence: what is drawn of it, and when its events are requested. */

import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openUrlStore } from "../../src/address/url";
import type { SpanHead } from "../../src/api.gen";
import type { ViewSource } from "../../src/server/client";
import { boxesOf } from "../../src/views/timeline/data/boxes";
import { castOf, drawnIn, fromRow, waitsOf, workAt } from "../../src/views/timeline/place/picture";
import { ToDo } from "../../src/views/to_do";
import { HEAD, INSIGHT, PAGE, ready, TAB } from "../fixtures/pages";
import { page } from "../fixtures/timeline";
import { DETAIL, timelineEvents } from "./shown_timeline";

const DRAWN = page(`
  thread | ffffffffffffffffffffffffffffff
  thread |   aaaaaaaaa   bbbbbbbb
  thread |    cc
  calls  |     d            e
  stream |       kk            ll`);

const VISIBLE = { from: 0, to: 290 };

test("the thread is drawn below what fills the place", () => {
  const boxes = boxesOf(DRAWN);
  const cast = castOf(boxes, { from: 20, to: 200 }, VISIBLE);
  expect(cast.tracks.map(({ kind, rows }) => [kind, rows])).toEqual([
    ["thread", 2],
    ["calls", 1],
    ["stream", 1],
  ]);
  const shown = fromRow(boxes, cast);
  expect(shown.rows.get(0)).toEqual(boxes.rows.get(1));
  expect(shown.rows.get(1)).toEqual(boxes.rows.get(2));
  const inThread = { ...DETAIL, track: cast.thread!.id, row: 2 };
  expect(drawnIn(cast, inThread).row).toBe(1);
  expect(drawnIn(cast, { ...inThread, track: cast.stream!.id }).row).toBe(2);
});

test.each([
  ["the longest wait of the place", { from: 20, to: 200 }, VISIBLE, "l"],
  ["a shorter wait, where the place is about that one", { from: 20, to: 110 }, VISIBLE, "k"],
  ["no wait beside the place, where its own ends out of sight", { from: 90, to: 160 }, { from: 0, to: 190 }, null],
  ["no wait, where it fills the place itself", { from: 60, to: 80 }, VISIBLE, "k"],
])("the work that is told of ends %s", (_, place, visible, name) => {
  const boxes = boxesOf(DRAWN);
  const { stream } = castOf(boxes, place, visible);
  const event = workAt(boxes, stream!, place, visible);
  expect(event === null ? null : boxes.names[boxes.name[[...boxes.event].indexOf(event)]!]).toBe(name);
});

const ON_CPU = page(`
  loader | ll
  thread | ffffffffffffffffffffffffffffff
  thread |   aaaaaaaaa   bbbbbbbb
  thread |    cc
  thread |    d
  thread |    e`);

test("without a GPU the thread has the rows that launches and the stream would take", () => {
  const { tracks } = castOf(boxesOf(ON_CPU), { from: 20, to: 200 }, VISIBLE);
  expect(tracks.map(({ kind, rows }) => [kind, rows])).toEqual([
    ["loader", 1],
    ["thread", 3],
  ]);
});

const lanes = page(`
  thread | ffffffffffffffffffffffffffffff
  stream |    kk   kkk              ll`);

test("the device waits between pieces of its work; a stream without work is drawn, too", () => {
  const boxes = boxesOf(lanes);
  const { stream } = castOf(boxes, { from: 20, to: 200 }, VISIBLE);
  expect(waitsOf(boxes, stream!, VISIBLE)).toEqual([
    { from: 50, to: 80 },
    { from: 110, to: 250 },
  ]);
  const idle = { from: 120, to: 200 };
  const cast = castOf(boxes, idle, idle);
  expect(cast.tracks.map(({ kind }) => kind)).toEqual(["thread", "stream"]);
  expect(waitsOf(boxes, cast.stream!, idle)).toEqual([]);
});

let appear = () => {};

beforeEach(() => {
  window.location.hash = "#tb_steptime";
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(seen: (entries: { isIntersecting: boolean }[]) => void) {
        appear = () => act(() => seen([{ isIntersecting: true }]));
      }
      observe() {}
      disconnect() {}
    },
  );
});
afterEach(() => Reflect.deleteProperty(globalThis, "IntersectionObserver"));

const SOURCE = { label: "Source line", value: { value: "train.py(48): step", unit: "text" as const }, copied: null };

function show(head: Partial<SpanHead> = {}, more: Partial<ViewSource> = {}) {
  const url = openUrlStore(window);
  const requests: string[] = [];
  const events = timelineEvents({
    timeline: async (span) => {
      requests.push(span);
      return ready(DRAWN);
    },
    event: async () => ready({ ...DETAIL, facts: [{ ...SOURCE, copied: "/job/src/train.py(48): step" }] }),
    ...more,
  });
  const insights = [{ ...INSIGHT, evidence: [{ step: "5", start_ns: 100, end_ns: 200 }] }];
  const of = { ...PAGE, insights, head: { ...HEAD, ...head } };
  render(<ToDo page={of} here="overview" tab={{ ...TAB, source: events, update: url.update }} />);
  return requests;
}

const picture = () => screen.findByRole("button", { name: /in step 5: open it in the Timeline$/ });

test("the events are asked for when the card is in sight; a press opens the Timeline there", async () => {
  const requests = show();
  expect(document.querySelector(".evidence-place")!.childElementCount).toBe(0);
  expect(requests).toEqual([]);
  appear();
  const opens = await picture();
  await waitFor(() => expect(opens.querySelectorAll("canvas")).toHaveLength(2));
  expect([...document.querySelectorAll(".place .names span")].map(({ textContent }) => textContent)).toEqual([
    "CPU",
    "Launches",
    "GPU 0",
  ]);
  expect(requests).toEqual([HEAD.id]);
  fireEvent.click(opens);
  expect(openUrlStore(window).read()).toMatchObject({ view: "timeline", step: "5", range: { from: 100, to: 200 } });
});

test("until its events are there the picture says that they are being read", async () => {
  let arrive = () => {};
  const events = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  show({}, { timeline: async () => events.then(() => ready(DRAWN)) });
  appear();
  const opens = await picture();
  expect(opens.textContent).toBe("");
  await waitFor(() => expect(opens.textContent).toBe("The events are being read."));
  expect(opens.querySelector("canvas")).toBeNull();
  arrive();
  await waitFor(() => expect(opens.querySelectorAll("canvas")).toHaveLength(2));
  expect(opens.textContent).toBe("");
});

test("the source line stands under it with its whole path, and leads to what runs at it", async () => {
  show();
  appear();
  fireEvent.click(await screen.findByRole("button", { name: "/job/src/train.py:48 step" }));
  expect(openUrlStore(window).read()).toMatchObject({ view: "operators", line: "train.py(48): step" });
});

test("of a large recording they are asked for on a press", async () => {
  const requests = show({ file_bytes: 400e6 });
  expect(requests).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: /^Show where it happens/ }));
  await picture();
  await waitFor(() => expect(requests).toEqual([HEAD.id]));
});

test("a report without the events keeps no place for them", () => {
  show({}, { held: () => null });
  expect(document.querySelector(".evidence-place")).toBeNull();
});

test("the outlined event is named with what it is; one that is the source line is not named twice", async () => {
  const asIn = (short_name: string) => ({ ...DETAIL, short_name, facts: [SOURCE], gap_start_ns: null, why_gap: null });
  show({}, { event: async () => ready(asIn("aten::conv2d")) });
  appear();
  await screen.findByText(/conv2d/);
  expect(document.querySelector(".place-line")!.textContent).toBe("train.py:48 stepOutlined: aten::conv2d");
  cleanup();
  show({}, { event: async () => ready(asIn("train.py(48): step")) });
  appear();
  await screen.findByRole("button", { name: "train.py:48 step" });
  expect(document.querySelector(".place-line")!.textContent).toBe("train.py:48 step");
});

test.each([
  ["before the place is not told of", 100, "Outlined: gemm"],
  ["in the place is", 150, "After the wait: gemm"],
])("a wait %s", async (_, start_ns, text) => {
  const begins = { start_ns, gap_start_ns: 90, why_gap: null };
  show({}, { event: async () => ready({ ...DETAIL, ...begins, short_name: "gemm", facts: [] }) });
  appear();
  await screen.findByText(/gemm/);
  expect(document.querySelector(".place-line")!.textContent!.trim()).toBe(text);
});
