/** The job on each rank's Overview. */
import { cleanup, screen, within } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import type { RanksPage } from "../../src/api.gen";
import type { Answer } from "../../src/server/client";
import { INSIGHT, index, PAGE, plain, ready, run } from "../fixtures/pages";
import { JOB, ranksPage, WORKERS } from "../fixtures/ranks";
import { openTab, press, says, seconds } from "./fake_server";

const PATH = {
  steps: 3,
  step_ns: 100_000_000,
  work_ns: 50_000_000,
  transfer_ns: 10_000_000,
  gain_ns: 40_000_000,
  ranks: [{ rank: 1, late_ns: 40_000_000, causes: [] }],
};

const server = (of = WORKERS) => ({
  ...says(),
  index: ready(index([{ ...run("a", []), workers: of }])),
  ranks: ready(ranksPage({ job: { ...JOB, path: PATH }, path: plain("A step is decided by rank 1.") })),
});

test("a rank shows what decides the job's step, and its own part in it", async () => {
  await openTab("view=overview&run=a&worker=rank1", server());
  const block = await screen.findByRole("region", { name: "The job" });
  expect(within(block).getByRole("heading").textContent!.replace(/\s/g, " ")).toContain(
    "3 ranks: Rank 1 makes the others wait.",
  );
  const bar = within(block).getByRole("figure");
  expect(bar.getAttribute("aria-label")!.replace(/\s/g, " ")).toBe(
    "A step of the job takes 100.0 ms: Work 50.0 ms, Transfers 10.0 ms, Rank 1 is late 40.0 ms.",
  );
  expect(block.textContent!.replaceAll("\u00a0", " ")).toContain(
    "Rank 1 waits 0 ms a step, and makes each other rank wait 40.0 ms.",
  );
  await press("Open Ranks");
  await screen.findByRole("heading", { level: 1, name: "Rank 1 makes the others wait." });
});

test("where the job has a card, its sentence is the headline, with what to do first", async () => {
  const card = { ...INSIGHT, id: "late", title: plain("Give rank 1 more cores") };
  const do_first = plain("Give rank 1 more cores: up to 40 ms a step.");
  const value = ranksPage({ job: { ...JOB, path: PATH }, insights: [card], do_first });
  await openTab("view=overview&run=a&worker=rank1", { ...server(), ranks: ready(value) });
  await screen.findByRole("heading", { level: 1, name: "Rank 1 makes the others wait." });
  expect(document.querySelector(".verdict")!.textContent).toContain("Give rank 1 more cores: up to 40 ms a step.");
  expect(screen.getByRole("heading", { name: "This rank alone" })).toBeTruthy();
});

test("the headline of the Overview repeats no link of the first card", async () => {
  const first = { ...PAGE.headline, action: plain("Load batches in worker processes."), view: "data_loading" };
  const shown = async (card: string | null) => {
    const overview = ready({ ...PAGE, headline: { ...first, card } });
    await openTab("view=overview", { ...says(), views: { ...says().views, overview } });
    await screen.findByRole("heading", { level: 1, name: "A step takes long." });
    return [
      screen.queryByRole("button", { name: "Open Data loading" }) !== null,
      screen.queryAllByRole("button", { name: "See Data loading" }).length,
    ];
  };
  expect(await shown("input_bound")).toEqual([false, 1]);
  cleanup();
  expect(await shown(null)).toEqual([true, 1]);
});

test("a rank is held back for its job, which would push it aside, but not for long", async () => {
  vi.useFakeTimers();
  const value = ranksPage({ job: { ...JOB, path: PATH }, insights: [INSIGHT], do_first: plain("Pin rank 1.") });
  const headlines = async (late_s: number) => {
    let answer = (_: Answer<RanksPage>) => {};
    const ranks = () => new Promise<Answer<RanksPage>>((take) => (answer = take));
    await openTab("view=overview&run=a&worker=rank1", server(), { ranks });
    const seen: (string | undefined)[] = [];
    const look = () => seen.push(document.querySelector(".verdict h1")?.textContent ?? undefined);
    for (let tenth = 0; tenth < 10 * late_s; tenth++) await seconds(0.1); // each of them is drawn
    look();
    answer(ready(value));
    await seconds(0.1);
    look();
    cleanup();
    return seen;
  };
  const job = "Rank 1 makes the others wait.";
  expect([await headlines(0.8), await headlines(2)]).toEqual([
    [undefined, job],
    ["A step takes long.", job],
  ]);
  vi.useRealTimers();
});

test("a run of one worker is no job", async () => {
  const requests = await openTab("view=overview&run=a&worker=rank0", server(WORKERS.slice(0, 1)));
  await screen.findByRole("main");
  expect(screen.queryByRole("region", { name: "The job" })).toBeNull();
  expect(requests.log.filter((each) => each.startsWith("ranks"))).toEqual([]);
});
