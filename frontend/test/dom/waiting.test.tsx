/** What a page shows before its content is there: nothing for 300 ms, and then what is being read for it. */

import { act, screen } from "@testing-library/preact";
import { beforeEach, expect, test, vi } from "vitest";
import { index, ready, run, span } from "../fixtures/pages";
import { openTab, press, says } from "./fake_server";

beforeEach(() => void vi.useFakeTimers());
const pass = (ms: number) => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));
const bar = () => screen.queryByRole("progressbar");
/** The visible text. It is empty if the only heading is for screen readers. */
const seen = () => {
  const main = document.querySelector("main")!.cloneNode(true) as HTMLElement;
  for (const hidden of main.querySelectorAll(".visually-hidden")) hidden.remove();
  return (main.textContent ?? "").replaceAll(/[\u00a0\u202f]/g, " ");
};

async function opened(address: string, server = says()) {
  const opening = openTab(address, server);
  await pass(0);
  await opening;
}

test("the tab says that it looks for traces once that takes longer than 300 ms", async () => {
  await opened("", { ...says(), slow_ms: 1_000 });
  await pass(250);
  expect(seen()).toBe("");
  await pass(100);
  expect(seen()).toContain("Looking for traces");
  expect(bar()).not.toBeNull();
});

test("a view that comes within 300 ms flickers nothing before it", async () => {
  const server = says();
  await opened("view=overview&run=a&span=1", server);
  await pass(10);
  expect(seen()).toContain("A step takes long.");
  server.slow_ms = 280;
  await act(async () => press(/^GPU/, "link"));
  const messages = new Set<string>();
  while (document.querySelector("main")!.dataset.state !== "ready") {
    messages.add(seen());
    expect(bar()).toBeNull();
    await pass(20);
  }
  expect([...messages]).toEqual([""]);
  expect(document.querySelector("[data-view='gpu']")).not.toBeNull();
});

test("a later one says what is read and how large the trace is, and after 5 s that the server is slow", async () => {
  const server = says();
  await opened("view=overview&run=a&span=1", server);
  await pass(10);
  server.slow_ms = 9_000;
  await act(async () => press(/^GPU/, "link"));
  await pass(320);
  expect(screen.getByRole("heading", { level: 1 }).textContent).toMatch(/^Opening GPU of .* of a$/);
  expect(seen()).toMatch(/Reading the summary of a trace of [\d.]+ [kMG]?B\./);
  expect(screen.getByRole("progressbar").getAttribute("aria-label")).toMatch(/^Opening GPU/);
  expect(seen()).not.toContain("TensorBoard takes long");
  await pass(5_000);
  expect(seen()).toContain("TensorBoard takes long");
  await pass(4_000);
  expect(document.querySelector("[data-view='gpu']")).not.toBeNull();
  expect(bar()).toBeNull();
});

test("the bytes of a file that is read are not shown for a moment only either", async () => {
  const server = says();
  const progress = { read_bytes: 4e6, total_bytes: 10e6, events: 1000, bytes_per_second: null, seconds_left: null };
  server.index = ready(index([run("a", [span(1, "reading", { progress })])]));
  server.views.overview = {
    kind: "waiting",
    value: { state: "reading", file: "w", file_number: 1, file_count: 2, progress },
  };
  await opened("", server);
  await pass(250);
  expect(seen()).toBe("");
  await pass(100);
  expect(seen()).toContain("Reading");
  expect(seen()).toContain("4 of 10 MB");
});

test("Trends says how many runs it opens", async () => {
  const server = says();
  await opened("view=trends", { ...server, slow_ms: 100, slow_trends_ms: 2_000 });
  await pass(110);
  await pass(320);
  expect(screen.getByRole("heading", { level: 1 }).textContent).toBe("Opening Trends");
  expect(seen()).toContain("Reading the summaries of 2 runs.");
});
