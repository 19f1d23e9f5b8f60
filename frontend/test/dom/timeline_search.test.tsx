import { cleanup, fireEvent, screen } from "@testing-library/preact";
import { beforeEach, expect, test, vi } from "vitest";
import type { SearchPage } from "../../src/api.gen";
import type { Answer, ViewSource } from "../../src/server/client";
import { ready } from "../fixtures/pages";
import { keys } from "./fake_server";
import { DETAIL, rest, show, stage, timelineEvents } from "./shown_timeline";

/** Finds 500 consecutive events of 10 ns. The last 200 of them are on track 1, in a folded frame. */
async function search(
  _span: string,
  { words, track, from, first }: Parameters<ViewSource["search"]>[1],
): Promise<Answer<SearchPage>> {
  const low = track === 1 ? 300 : 0;
  const all = "op".includes(words) ? Array.from({ length: 500 - low }, (_, at) => low + at) : [];
  const next = first ?? all.findIndex((at) => at >= from);
  const begin = Math.max(0, Math.min(next - 50, all.length - 200));
  const shown = all.slice(begin, begin + 200);
  return ready({
    count: all.length,
    total_ns: all.length * 10,
    tracks: [
      { track: 0, count: 300, total_ns: 3_000 },
      { track: 1, count: 200, total_ns: 2_000 },
    ],
    next: next < 0 ? all.length : next,
    first: begin,
    hits: {
      event: shown.map((at) => 1000 + at),
      start_ns: shown,
      length_ns: shown.map(() => 10),
      track: shown.map((at) => Number(at >= 300)),
      row: shown.map((at) => (at >= 300 ? -1 : 0)),
      name: shown.map(() => "op"),
    },
    bins_from_ns: 0,
    bins_to_ns: 500,
    bins: [all.length],
  });
}

let server: ViewSource;

beforeEach(async () => {
  vi.useFakeTimers();
  server = timelineEvents({ search });
  await show(server, "p.tb_steptime.step=5");
});
const field = () => screen.getByRole<HTMLInputElement>("searchbox", { name: /Find events/ });
const status = () =>
  field().closest("search")!.querySelector('[role="status"]')!.textContent!.replaceAll("\u00a0", " ");
const press = async (key: string, shiftKey = false) => {
  fireEvent.keyDown(field(), { key, shiftKey });
  await rest();
};
const find = async (words: string) => {
  fireEvent.input(field(), { target: { value: words } });
  await rest();
};

test("counts what the server finds in the whole recording, not what is visible", async () => {
  fireEvent.keyDown(stage(), { key: "/" });
  expect(document.activeElement).toBe(field());
  await find("op");
  expect(status()).toBe("500 found, 5 µs in all");
  expect(keys().find).toBe("op");
  expect(screen.getByText("On 2 tracks: 500")).toBeTruthy();
  await find("nothing");
  expect(status()).toBe("none in this recording");
  fireEvent.keyDown(field(), { key: "Escape" });
  expect([document.activeElement, field().value, keys().find]).toEqual([stage(), "", undefined]);
});

test("goes to the next and the one before anywhere in the recording, and round", async () => {
  await find("op");
  await press("Enter");
  expect([keys().event, status()]).toEqual([1000, "1 of 500, 5 µs in all"]);
  await press("Enter");
  expect([keys().event, status()]).toEqual([1001, "2 of 500, 5 µs in all"]);
  await press("Enter", true);
  await press("Enter", true);
  expect([keys().event, status()]).toEqual([1499, "500 of 500, 5 µs in all"]);
  await rest();
  expect(keys().zoom!.to).toBeGreaterThan(490); // the last event is at the end
  fireEvent.keyDown(stage(), { key: "F3" });
  await rest();
  expect(status()).toBe("1 of 500, 5 µs in all");
});

test("another search begins anew: the number of the last one is not its own", async () => {
  await find("op");
  await press("Enter");
  expect(status()).toBe("1 of 500, 5 µs in all");
  await find("o");
  expect(status()).toBe("500 found, 5 µs in all");
});

test("goes on from the event that was chosen meanwhile", async () => {
  await find("op");
  await press("Enter");
  server.event = async () => ready({ ...DETAIL, event: 7, start_ns: 300, end_ns: 310 });
  cleanup();
  await show(server, "p.tb_steptime.find=op&p.tb_steptime.event=7");
  expect(status()).toBe("500 found, 5 µs in all");
  await press("Enter");
  expect(status()).toBe("301 of 500, 5 µs in all");
});

test("of one track; a frame that is folded away is unfolded", async () => {
  await find("op");
  fireEvent.change(screen.getByRole("combobox", { name: "Tracks that are searched" }), { target: { value: "1" } });
  await rest();
  expect(status()).toBe("200 found, 2 µs in all");
  expect(keys().frames).toBeUndefined();
  await press("Enter");
  expect([keys().event, keys().frames]).toEqual([1300, "all"]);
});

test("in a report it says that it finds only what the report holds", async () => {
  cleanup();
  const held = () => ({ steps: ["5"], start_ns: 0, end_ns: 250, joined: 0 });
  await show(timelineEvents({ search, held }), "p.tb_steptime.step=5");
  expect(field().getAttribute("aria-label")).toBe("Find events by name in this report");
  await find("op");
  expect(status()).toBe("500 found, 5 µs in this report");
  await find("nothing");
  expect(status()).toBe("none in this report");
});
