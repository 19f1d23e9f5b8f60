/** The Timeline of two steps. A test sets the answers of its server; its address is that of the window. */

import { act, render, screen } from "@testing-library/preact";
import { useReducer } from "preact/hooks";
import { vi } from "vitest";
import { openUrlStore } from "../../src/address/url";
import type { EventDetail, PageOf } from "../../src/api.gen";
import type { ViewSource } from "../../src/server/client";
import { Timeline } from "../../src/views/timeline/timeline";
import { all } from "../fixtures/all";
import { AROUND, ready, TAB } from "../fixtures/pages";
import { page } from "../fixtures/timeline";

export const EVENTS = page(`
  thread | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  bbbbbbbbbbbbbbb
  stream |       cccccccccc           dddd`);

export const PAGE: PageOf<"timeline"> = {
  ...AROUND,
  result: {
    first_ns: 0,
    last_ns: 500,
    steps: [0, 250].map((start, at) => ({ name: String(at + 5), start_ns: start, end_ns: start + 250 })),
  },
};

export const DETAIL: EventDetail = {
  ...all(0, "event track row start_ns"),
  name: "aten::a",
  short_name: "aten::a",
  kind: "CPU op",
  on: "Training thread 1",
  end_ns: 300,
  facts: [],
  links: [],
  gap_start_ns: null,
  why_gap: null,
};

export const timelineEvents = (own: Partial<ViewSource>): ViewSource => ({
  ...TAB.source,
  timeline: async () => ready(EVENTS),
  event: async () => ready(DETAIL),
  ...own,
});

export function Shown({ events, shown = PAGE }: { events: ViewSource; shown?: PageOf<"timeline"> }) {
  const url = openUrlStore(window);
  const [, again] = useReducer((count: number) => count + 1, 0);
  const update: typeof url.update = (changes) => {
    url.update(changes);
    again(0);
  };
  return <Timeline page={shown} tab={{ ...TAB, state: url.read(), update, source: events }} compared={null} />;
}

/** Waits long enough for an update of the address and for a search. */
export const rest = () => act(async () => void (await vi.advanceTimersByTimeAsync(400)));

export async function show(events: ViewSource, hash = "", shown = PAGE): Promise<void> {
  window.location.hash = `#tb_steptime&${hash}`;
  render(<Shown events={events} shown={shown} />);
  await rest();
}

export const stage = () => screen.getByRole("application", { name: /tracks of events/ });
