import { fireEvent, screen, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { Pipeline, StageRow } from "../../src/api.gen";
import { all } from "../fixtures/all";
import { index, plain, ready, run } from "../fixtures/pages";
import { CAUSED, JOB, ranksPage, WORKERS } from "../fixtures/ranks";
import { keys, openTab, says, valueText } from "./fake_server";

const MS = 1_000_000;

const row = (rank: number, of: Partial<StageRow> = {}): StageRow => ({
  rank,
  stages: [rank],
  step_ns: 60 * MS,
  forward_ns: 10 * MS,
  backward_ns: 20 * MS,
  ...all(0, "other_ns imbalance_ns ordering_ns transfer_ns"),
  schedule_ns: 30 * MS,
  ...of,
});

const PIPELINE: Pipeline = {
  schedule: "gpipe",
  reason: null,
  odd_ranks: [],
  chains: 1,
  micro_batches: 1,
  stages: 2,
  steps: 3,
  step_ns: 60 * MS,
  window_ns: 60 * MS,
  work_ns: 30 * MS,
  ...all(0, "other_ns imbalance_ns ordering_ns transfer_ns"),
  schedule_ns: 30 * MS,
  perfect_ns: 30 * MS,
  rows: [row(0), row(1, { schedule_ns: 28 * MS, transfer_ns: 2 * MS })],
  shown: {
    name: "10",
    length_ns: 60 * MS,
    shift_ns: [5 * MS, 100 * MS],
    passes: [
      { row: 0, kind: 0, stage: 0, micro_batch: 0, from_ns: 0, to_ns: 10 * MS },
      { row: 0, kind: 1, stage: 0, micro_batch: 0, from_ns: 40 * MS, to_ns: 60 * MS },
      { row: 1, kind: 0, stage: 1, micro_batch: 0, from_ns: 10 * MS, to_ns: 20 * MS },
      { row: 1, kind: 1, stage: 1, micro_batch: 0, from_ns: 20 * MS, to_ns: 40 * MS },
    ],
    bubbles: [
      { row: 0, cause: "schedule", from_ns: 10 * MS, to_ns: 40 * MS },
      { row: 1, cause: "schedule", from_ns: 0, to_ns: 8 * MS },
      { row: 1, cause: "transfer", from_ns: 8 * MS, to_ns: 10 * MS },
      { row: 1, cause: "schedule", from_ns: 40 * MS, to_ns: 60 * MS },
    ],
  },
};

const server = (pipeline: Pipeline | null = PIPELINE) => ({
  ...says(),
  index: ready(index([{ ...run("a", []), workers: WORKERS }])),
  ranks: ready(ranksPage({ job: { ...JOB, pipeline }, pipeline: pipeline && plain("2 stages, schedule GPipe.") })),
  rankMap: () => ready(CAUSED),
});

const OPEN = "view=ranks&run=a&worker=rank0";

const picture = () => screen.findByRole("slider", { name: /^What the 2 stages of the pipeline compute in step 10/ });

test("it says which pass a stage computes, and what it is idle for", async () => {
  await openTab(OPEN, server());
  const stages = await picture();
  fireEvent.keyDown(stages, { key: "Home" });
  expect(valueText(stages)).toMatch(/^stage 0 · rank 0, .*forward, micro-batch 0, stage 0 10.0 ms$/);
  fireEvent.keyDown(stages, { key: "ArrowDown" });
  expect(valueText(stages)).toMatch(/^stage 1 · rank 1, .*Idle: schedule 8.0 ms$/);
  expect(screen.getByText("2 stages, schedule GPipe.")).toBeTruthy();
});

test("only causes that the step has stand in the legend", async () => {
  await openTab(OPEN, server());
  const figure = (await picture()).closest(".picture")!;
  const legend = figure.querySelector(".rank-legend")!.textContent!.replace(/\s+/g, " ");
  expect(legend).toBe(" passes of micro-batches, backward in a second shade schedule transfer");
});

test("a press opens the rank's Timeline at that place, on its own clock", async () => {
  await openTab(OPEN, server());
  const stages = await picture();
  fireEvent.keyDown(stages, { key: "Home" });
  fireEvent.keyDown(stages, { key: "ArrowDown" });
  fireEvent.keyDown(stages, { key: "Enter" });
  expect(keys()).toMatchObject({
    view: "timeline",
    worker: "rank1",
    step: "10",
    zoom: { from: 97 * MS, to: 103 * MS },
  });
});

test("each row sums to the stage's step", async () => {
  await openTab(OPEN, server());
  await picture();
  const rows = within(screen.getByRole("grid", { name: "Stages of the pipeline" }))
    .getAllByRole("row")
    .slice(1);
  expect(rows.map((each) => each.textContent!.replace(/\s/g, " "))).toEqual([
    "0, rank 060.0 ms10.0 ms20.0 ms0 ms30.0 ms0 ms0 ms0 ms",
    "1, rank 160.0 ms10.0 ms20.0 ms0 ms28.0 ms0 ms0 ms2.0 ms",
  ]);
});

test("a job that is no pipeline has no picture of one", async () => {
  await openTab(OPEN, server(null));
  await screen.findByRole("heading", { level: 1 });
  expect(screen.queryByRole("grid", { name: "Stages of the pipeline" })).toBeNull();
});
