import { fireEvent, screen, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { JobRanks, JobTimeline } from "../../src/api.gen";
import type { Answer } from "../../src/server/client";
import { index, ready, run } from "../fixtures/pages";
import { CAUSED, JOB, LANES, ranksPage, WORKERS } from "../fixtures/ranks";
import { keys, openTab, says, valueText } from "./fake_server";

const server = (job: JobRanks = JOB, lanes: Answer<JobTimeline> = ready(LANES)) => ({
  ...says(),
  index: ready(index([{ ...run("a", []), workers: WORKERS }])),
  ranks: ready(ranksPage({ job })),
  rankMap: () => ready(CAUSED),
  jobTimeline: () => lanes,
});

const OPEN = "view=ranks&run=a&worker=rank0";

const picture = () => screen.findByRole("slider", { name: /^What 3.ranks do in step 10, on one clock/ });

test("it says what a rank does at an instant and for whom it waits", async () => {
  await openTab(OPEN, server());
  const lanes = await picture();
  fireEvent.keyDown(lanes, { key: "ArrowRight" });
  expect(valueText(lanes)).toMatch(
    /^rank 0, .*It does waits for others, all-reduce rank 1 arrives last, Longest wait 40.0 ms/,
  );
  fireEvent.keyDown(lanes, { key: "ArrowDown" });
  expect(valueText(lanes)).toMatch(/^rank 1, .*It does its own time$/);
});

test("a rank opens in the Timeline at the instant, on its own clock", async () => {
  await openTab(OPEN, server());
  const lanes = await picture();
  fireEvent.keyDown(lanes, { key: "Home" });
  fireEvent.keyDown(lanes, { key: "ArrowDown" });
  fireEvent.keyDown(lanes, { key: "Enter" });
  expect(keys()).toMatchObject({ view: "timeline", worker: "rank1", step: "10", zoom: { from: 0, to: 10_000_000 } });
});

test("another step is chosen by its name", async () => {
  const requests = await openTab(OPEN, server());
  await picture();
  fireEvent.change(screen.getByRole("combobox", { name: "Step of the job timeline" }), { target: { value: "11" } });
  expect(keys()).toMatchObject({ step: "11" });
  await picture();
  expect(requests.log.filter((each) => each.startsWith("job_timeline"))).toEqual(["job_timeline", "job_timeline 11"]);
});

test("a window is asked for anew, and all of the step is a press away", async () => {
  const requests = await openTab(OPEN, server());
  const lanes = await picture();
  fireEvent.keyDown(lanes, { key: "+" });
  fireEvent.click(await screen.findByRole("button", { name: "Show the whole step" }));
  expect(requests.log.filter((each) => each.startsWith("job_timeline"))).toContain("job_timeline 25000000");
  expect(screen.queryByRole("button", { name: "Show the whole step" })).toBeNull();
});

test("ranks without a common clock have no such picture, but the reason in a hint", async () => {
  const apart = { residual_ns: null, reason: { code: "clocks_need_collectives", values: {} } };
  await openTab(OPEN, server({ ...JOB, clocks: apart }));
  await screen.findByRole("heading", { name: "Which rank makes the others wait?" });
  const place = screen.getByRole("heading", { name: "Which rank decides a step?" }).closest("section")!;
  expect(within(place).queryByRole("slider")).toBeNull();
  expect(within(place).getByRole("note", { name: "Details" }).dataset.hint).toBe("The clocks are aligned.");
});
