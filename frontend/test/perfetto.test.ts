/** A trace is handed from page to page. What can prevent that is reported separately. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Handed, handToPerfetto, PERFETTO } from "../src/views/timeline/step_line";

const TRACE = { title: "run worker span 1, step 5", name: "step5.json.gz", bytes: new ArrayBuffer(3) };

/** A window that opens another one or is blocked, the messages that it sends there, and a way to answer it. */
function page({ online = true, blocked = false } = {}) {
  const sent: [unknown, string][] = [];
  const opened = { closed: false, postMessage: (data: unknown, origin: string) => void sent.push([data, origin]) };
  const listeners = new Set<(event: unknown) => void>();
  const around = {
    navigator: { onLine: online },
    open: vi.fn(() => (blocked ? null : opened)),
    addEventListener: (_: string, listener: (event: unknown) => void) => listeners.add(listener),
    removeEventListener: (_: string, listener: (event: unknown) => void) => listeners.delete(listener),
  };
  const answer = (data: unknown, origin = PERFETTO, source: unknown = opened) => {
    for (const listener of listeners) listener({ data, origin, source });
  };
  const how = vi.fn<(how: Handed) => void>();
  void handToPerfetto(TRACE, around as unknown as Window).then(how);
  return { sent, opened, answer, around, listeners, how };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});
const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("it asks until Perfetto answers, then gives the trace to that page alone, once", async () => {
  const { sent, answer, around, listeners, how } = page();
  expect(around.open).toHaveBeenCalledWith(PERFETTO);
  await wait(500);
  expect(sent).toEqual([
    ["PING", PERFETTO],
    ["PING", PERFETTO],
  ]);
  answer("PONG");
  answer("PONG");
  await wait(60_000);
  expect(sent.slice(2)).toEqual([
    [{ perfetto: { buffer: TRACE.bytes, title: TRACE.title, fileName: TRACE.name } }, PERFETTO],
  ]);
  expect([how.mock.calls, listeners.size]).toEqual([[["given"]], 0]);
});

test("an answer of another page or window is none", async () => {
  const { sent, answer, how } = page();
  answer("PONG", "https://example.com");
  answer("PONG", PERFETTO, {});
  answer("PING");
  await wait(300);
  expect([sent, how.mock.calls]).toEqual([[["PING", PERFETTO]], []]);
});

test("what stops it is said, and nothing is asked any more", async () => {
  const blocked = page({ blocked: true });
  const offline = page({ online: false });
  const silent = page();
  const closed = page();
  closed.opened.closed = true;
  await wait(60_000);
  expect([blocked, offline, silent, closed].map(({ how }) => how.mock.calls)).toEqual([
    [["blocked"]],
    [["offline"]],
    [["silent"]],
    [["closed"]],
  ]);
  expect([offline.around.open.mock.calls, closed.sent, silent.listeners.size]).toEqual([[], [], 0]);
  expect(silent.sent.length).toBeLessThan(200);
});
