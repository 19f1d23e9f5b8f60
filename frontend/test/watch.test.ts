import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Index } from "../src/api.gen";
import type { Answer } from "../src/server/client";
import { type Watched, watchIndex } from "../src/server/watch";
import { index, run, span } from "./fixtures/pages";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const ready = (value: Index): Answer<Index> => ({ kind: "ready", value });
const IDLE = ready(index([run("a", [span(1)])]));
const READING = ready(index([run("a", [span(1, "reading")])]));
const UNREAD = ready(index([run("a", [span(1), span(2, "unread")])], { version: "2" }));
const GONE: Answer<Index> = { kind: "gone" };

function watching(answers: Answer<Index>[]) {
  const asked: number[] = [];
  const told: Watched[] = [];
  let hidden = false;
  let shown = () => {};
  const ask = async () => {
    asked.push(Date.now());
    return answers[Math.min(asked.length, answers.length) - 1]!;
  };
  const around = {
    hidden: () => hidden,
    listen(listener: () => void) {
      shown = listener;
      return () => {};
    },
    time_ms: () => Date.now(),
  };
  const begun_ms = Date.now();
  const watch = watchIndex(ask, (watched) => told.push(watched), around);
  return {
    told,
    watch,
    seconds: () => asked.map((at) => (at - begun_ms) / 1000),
    hide: (now: boolean) => {
      hidden = now;
      shown();
    },
  };
}

test("asks every second while a file is read or waits for its turn, every five when not", async () => {
  const { seconds } = watching([READING, UNREAD, IDLE]);
  await vi.advanceTimersByTimeAsync(13_000);
  expect(seconds()).toEqual([0, 1, 2, 7, 12]);
});

test("a silent server is asked ever less often, and the figures stay", async () => {
  const { seconds, told } = watching([IDLE, GONE, GONE, GONE, IDLE]);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(seconds()).toEqual([0, 5, 7, 11, 19, 24]);
  expect(told.map((each) => each.index?.version)).toEqual(["1", "1", "1", "1", "1", "1"]);
  expect(told.map((each) => (each.retry_ms === null ? null : (each.retry_ms - each.received_ms) / 1000))).toEqual([
    null,
    7,
    11,
    19,
    null,
    null,
  ]);
});

test("a hidden tab does not ask; shown again it asks at once", async () => {
  const { seconds, hide } = watching([IDLE]);
  await vi.advanceTimersByTimeAsync(1_000);
  hide(true);
  await vi.advanceTimersByTimeAsync(60_000);
  hide(false);
  await vi.advanceTimersByTimeAsync(0);
  expect(seconds()).toEqual([0, 61]);
});

test("one request at a time, however often it is asked for", async () => {
  const { seconds, watch } = watching([IDLE]);
  watch.now();
  watch.now();
  await vi.advanceTimersByTimeAsync(0);
  expect(seconds()).toEqual([0]);
});

test("an unchanged index keeps its identity", async () => {
  const { told } = watching([IDLE, ready(structuredClone((IDLE as { value: Index }).value))]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(told.length).toBe(2);
  expect(told[1]!.index).toBe(told[0]!.index);
});
