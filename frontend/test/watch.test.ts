import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Index } from "../src/api.gen";
import { type Answer, SILENT } from "../src/server/client";
import { type Watched, watchIndex } from "../src/server/watch";
import { index, ready, run, span } from "./fixtures/pages";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const IDLE = ready(index([run("a", [span(1)])]));
const READING = ready(index([run("a", [span(1, "reading")])]));
const UNREAD = ready(index([run("a", [span(1), span(2, "unread")])], { version: "2" }));
const GONE: Answer<Index> = { kind: "gone", value: SILENT };
const LOGIN: Answer<Index> = { kind: "problem", value: { ...SILENT, problem: "A login is needed" } };

function watching(answers: Answer<Index>[]) {
  const requests: number[] = [];
  const told: Watched[] = [];
  let hidden = false;
  let shown = () => {};
  const ask = async () => {
    requests.push(Date.now());
    return answers[Math.min(requests.length, answers.length) - 1]!;
  };
  const around = {
    hidden: () => hidden,
    listen(listener: () => void) {
      shown = listener;
      return () => {};
    },
  };
  const begun_ms = Date.now();
  const watch = watchIndex(ask, (watched) => told.push(watched), around);
  return {
    told,
    watch,
    seconds: () => requests.map((at) => (at - begun_ms) / 1000),
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
  await vi.advanceTimersByTimeAsync(18_000);
  expect(seconds()).toEqual([0, 5, 6, 8, 12, 17]);
  expect(told.map((each) => each.index?.version)).toEqual(["1", "1", "1", "1", "1"]);
  expect(told.map(({ trouble, received_ms }) => trouble && (trouble.retry_ms - received_ms) / 1000)).toEqual([
    null,
    6,
    8,
    12,
    null,
  ]);
});

test("the longest pause is half a minute, and a proxy's page is as much trouble as silence", async () => {
  const { seconds, told } = watching([LOGIN]);
  await vi.advanceTimersByTimeAsync(92_000);
  expect(seconds()).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
  expect(told[0]!.trouble!.problem.problem).toBe("A login is needed");
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

test("a tab hidden while it waits for an answer does not ask again either", async () => {
  const { seconds, hide } = watching([READING]);
  hide(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(seconds()).toEqual([0]);
});

test("one request at a time, however often it is asked for", async () => {
  const { seconds, watch } = watching([IDLE]);
  watch.now();
  watch.now();
  await vi.advanceTimersByTimeAsync(0);
  expect(seconds()).toEqual([0]);
});

test("an unchanged index is no news, and what comes after it keeps its identity", async () => {
  const again = () => ready(structuredClone((IDLE as { value: Index }).value));
  const { told, seconds } = watching([IDLE, again(), again(), GONE]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(seconds()).toEqual([0, 5, 10]);
  expect(told.length).toBe(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(told.length).toBe(2);
  expect(told[1]!.index).toBe(told[0]!.index);
  expect(told[1]!.received_ms - told[0]!.received_ms).toBe(10_000);
});

test("stopping aborts the request under way and reports nothing more", async () => {
  const told: Watched[] = [];
  const signals: AbortSignal[] = [];
  const watch = watchIndex(
    (signal) => {
      signals.push(signal);
      return new Promise((resolve) => setTimeout(() => resolve(IDLE), 100));
    },
    (watched) => told.push(watched),
    { hidden: () => false, listen: () => () => {} },
  );
  watch.stop();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toEqual([]);
  expect(signals.length).toBe(1);
});
