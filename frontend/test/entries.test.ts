import { describe, expect, test } from "vitest";
import { selections } from "../src/address/selection";
import { age, compareEntries, namedByRun, runEntries } from "../src/frame/entries";
import { simulatedRuns } from "../src/frame/top";
import { index, run, span } from "./fixtures/pages";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 0, 20, 12);
const recorded = (days: number) => (NOW - days * DAY) * 1e6;

const INDEX = index([
  run("jobs/baseline_v100", [span(1, "ready", { recorded_ns: recorded(3) })]),
  run("jobs/cpu_v100", [span(2, "ready", { has_gpu: false, recorded_ns: recorded(0.1) })]),
  { ...run("jobs/model_v100", [span(3, "ready", { recorded_ns: recorded(400) })]), simulated: true },
  run("jobs/new_v100", [span(4, "unread", { recorded_ns: NOW * 1e6 })]),
  run("jobs/amp_v100", [span(5, "ready", { recorded_ns: recorded(1) }), span(6)]),
]);
const plain = (text: string) => text.replaceAll("\u00a0", " ");

describe("what the pickers list", () => {
  test("runs by kind, under their shortest names, with age and mean step", () => {
    const entries = runEntries(INDEX.runs, selections(INDEX)[0]!, null, NOW);
    expect(entries.map(({ group, label, aside }) => [group, label, plain(aside)])).toEqual([
      ["With a GPU", "baseline", "3 d ago, 10.0 ms"],
      ["With a GPU", "amp", "1 d ago, 50.0 ms"],
      ["CPU only", "cpu", "2 h ago, 20.0 ms"],
      ["Simulated", "model", "16 December 2024, 30.0 ms"],
      ["Not read yet", "new", "just now, 1.0 MB"],
    ]);
    expect(entries.map(({ id, full }) => id === full)).not.toContain(false);
  });

  test("one kind needs no group", () => {
    const entries = runEntries([INDEX.runs[0]!, INDEX.runs[4]!], selections(INDEX)[0]!, null, NOW);
    expect(entries.map(({ group }) => group)).toEqual([undefined, undefined]);
  });

  test("spans to compare with say which of their run's spans they are", () => {
    const entries = compareEntries(selections(INDEX)[0]!, INDEX, null, NOW);
    expect(entries.map(({ id, label, folded }) => [id, label, folded])).toEqual([
      ["jobs/amp_v100/worker0/5", "amp, span 5", false],
      ["jobs/amp_v100/worker0/6", "amp, span 6", true],
      ["jobs/cpu_v100/worker0/2", "cpu", false],
      ["jobs/model_v100/worker0/3", "model", false],
      ["jobs/new_v100/worker0/4", "new", false],
    ]);
  });

  test("runs of the same work come first; alone in its work, a run stands among its kind", () => {
    const works = new Map([
      ["jobs/baseline_v100", 1],
      ["jobs/cpu_v100", 0],
      ["jobs/amp_v100", 1],
    ]);
    const grouped = (at: number) =>
      runEntries(INDEX.runs, selections(INDEX)[at]!, works, NOW).map(({ group, label }) => [group, label]);
    expect(grouped(0).slice(0, 3)).toEqual([
      ["The same work", "baseline"],
      ["The same work", "amp"],
      ["CPU only", "cpu"],
    ]);
    expect(grouped(1)[0]).toEqual(["With a GPU", "baseline"]);
    expect(compareEntries(selections(INDEX)[4]!, INDEX, works, NOW).map(({ group, id }) => [group, id])).toEqual([
      ["The same work", "jobs/baseline_v100/worker0/1"],
      ["In this run", "jobs/amp_v100/worker0/6"],
      ["CPU only", "jobs/cpu_v100/worker0/2"],
      ["Simulated", "jobs/model_v100/worker0/3"],
      ["Not read yet", "jobs/new_v100/worker0/4"],
    ]);
  });

  test.each([
    [30_000, "just now"],
    [12 * 60_000, "12 min ago"],
    [5 * 3_600_000, "5 h ago"],
    [13 * DAY, "13 d ago"],
    [14 * DAY, "6 January 2026"],
  ])("%d ms before now is %s", (passed, expected) => expect(plain(age((NOW - passed) * 1e6, NOW))).toBe(expected));

  test("a note names the simulated runs among those that are shown, and no other", () => {
    const simulated = "These runs come from a simulator: model.";
    expect(simulatedRuns(INDEX, ["jobs/model_v100", "jobs/amp_v100"])).toEqual({ simulated, partly: true });
    expect(simulatedRuns(INDEX, ["jobs/model_v100"])).toMatchObject({ partly: false });
    expect(simulatedRuns(INDEX, ["jobs/amp_v100", "jobs/baseline_v100"])).toEqual({ simulated: null });
  });
});

test("the only worker is left out of the path where its name repeats the run's; its rank and a choice stay", () => {
  const only = (name: string, worker: string, rank: number | null = null) => {
    const entry = run(name, [span(1)], worker);
    return { ...entry, workers: entry.workers.map((each) => ({ ...each, rank })) };
  };
  const two = { ...only("a", "a"), workers: [...only("a", "a").workers, ...only("a", "b").workers] };
  const runs = [
    only("jobs/eager", "eager"),
    only("resnet_CUDA", "cuda"),
    only("resnet", "cuda"),
    only("a", "a", 3),
    two,
  ];
  const named = runs.map((entry) => namedByRun({ run: entry, worker: entry.workers[0]!, span: span(1) }));
  expect(named).toEqual([true, true, false, false, false]);
});
