/** Answers from a report: how they are packed, what it holds, and messages about what it does not hold. */

import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type {
  ComparePage,
  EventDetail,
  IncludedAnswers,
  IncludedEvents,
  TimelinePage,
  TrendsPage,
} from "../src/api.gen";
import type { Answer } from "../src/server/client";
import {
  decompressed,
  inRows,
  isFinal,
  NO_EVENTS,
  NO_FLAME,
  NOT_HELD,
  OTHER_EVENT,
  openRecorded,
  unpacked,
} from "../src/server/recorded";
import { CHAIN, COMPARED } from "./fixtures/compared";
import { trendSpan } from "./fixtures/figures";
import { FLAME } from "./fixtures/flame";
import { CATALOGUE } from "./fixtures/meanings";
import { index, PAGE, run, span } from "./fixtures/pages";

const headline = (template: string, titles: TrendsPage["titles"] = {}) => ({
  headline: { verdict: { template, values: {} }, action: null, view: null, code: null, basis: null, card: null },
  titles,
});
const title = (template: string) => ({ template, values: {} });

const ROWS = ["a", "b", "c"].map((run) => trendSpan({ run, number: 1, first: 5, ms: [100] }));

const PAIR: ComparePage = {
  ...COMPARED,
  base: { run: "a", worker: "w", spans: ["id-1", "id-2"] },
  candidate: { run: "b", worker: "w", spans: ["id-3"] },
};

const RECORDED: IncludedAnswers = {
  written_ms: 0,
  place: {},
  index: index([run("a", [span(1), span(2)]), run("b", [span(3)]), run("c", [span(4)])]),
  catalogue: CATALOGUE,
  pages: { "id-1": { overview: PAGE as never } },
  trends: {
    rows: ROWS,
    changes: [],
    of_all: { "": headline("All."), b: headline("All, b first.") },
    of_one: {
      a: headline("a."),
      b: headline("b.", { steps: title("Steps of b."), gpu_utilization: title("All of b.") }),
      c: headline("c."),
    },
  },
  pairs: [PAIR],
  chain: CHAIN,
  jobs: [],
  waits: [],
  chain_runs: ["a", "b", "c"],
  keeps_paths: false,
  job_steps: {},
  scalars: {
    a: {
      tags: ["loss", "speed"],
      series: ["loss", "speed"].map((tag) => ({ source: "a", tag, steps: [1], wall_ns: [2], values: [3] })),
    },
  },
};

const described = (event: number, name: string, start_ns: number, end_ns: number): EventDetail => ({
  event,
  name,
  short_name: name.toUpperCase(),
  kind: "CPU op",
  on: "Thread",
  track: event % 2,
  row: 3,
  start_ns,
  end_ns,
  facts: [],
  links: [{ role: "In", event: 9, name: "frame", track: 0, row: 2, start_ns, end_ns }],
  gap_start_ns: null,
  why_gap: null,
});

const FOLDED = { detail_ns: 1 } as TimelinePage;
const WHOLE = { detail_ns: 2 } as TimelinePage;

const HELD: IncludedEvents = {
  held: { steps: ["5"], start_ns: 100, end_ns: 200, joined: 0 },
  folded: FOLDED,
  whole: WHOLE,
  described: [described(0, "add", 120, 130), described(1, "addmm", 110, 150), described(2, "copy", 160, 170)],
  moved: [1, 9],
  moved_row: [1, -1],
  busy: { start_ns: 0, end_ns: 500, of: "gpu", devices: 1, busy_ns: [7], kernels: [1], most: [] },
};

const client = openRecorded(RECORDED, (span) => (span === "id-2" ? HELD : null));
const signal = new AbortController().signal;
const held = async <T>(answer: Promise<Answer<T>>): Promise<T | "not held"> => {
  const { kind, value } = await answer;
  if (kind === "ready") return value;
  expect(value).toBe(NOT_HELD);
  return "not held";
};

test("a page is of a span and a view", async () => {
  expect(await held(client.view("id-1", "overview"))).toBe(PAGE);
  expect(await held(client.view("id-1", "gpu"))).toBe("not held");
  expect(await held(client.view("id-9", "overview"))).toBe("not held");
});

test("a pair is held in its direction, for every span of its workers", async () => {
  expect(await held(client.compare("id-1", "id-3", signal))).toBe(PAIR);
  expect(await held(client.compare("id-2", "id-3", signal))).toBe(PAIR);
  expect(await held(client.compare("id-3", "id-1", signal))).toBe("not held");
});

test("the chain is that of the report's runs, in their order", async () => {
  expect(await held(client.chain([], [], signal))).toBe(CHAIN);
  expect(await held(client.chain(["c", "a", "b"], [], signal))).toBe(CHAIN);
  expect(await held(client.chain(["a", "b"], [], signal))).toBe("not held");
  expect(await held(client.chain([], ["b"], signal))).toBe("not held");
});

test("Trends speaks of all runs, of one, and of some among many only by their number", async () => {
  const trends = async (runs: string[], focus: string | null = null) => {
    const page = (await held(client.trends(runs, focus))) as TrendsPage;
    return [page.headline.verdict.template, page.spans.map((each) => each.run).join(""), Object.keys(page.titles)];
  };
  expect(await trends([])).toEqual(["All.", "abc", []]);
  expect(await trends([], "b")).toEqual(["All, b first.", "abc", []]);
  expect(await trends(["a"])).toEqual(["a.", "a", []]);
  expect(await trends(["a", "b"])).toEqual(["{shown} of {all} runs are shown.", "ab", ["steps"]]);
});

test("single events say that they are not in it, and nobody asks again", async () => {
  const { kind, value } = await client.event("id-1", { event: 0, folded: true }, signal);
  expect([kind, value]).toEqual(["problem", NO_EVENTS]);
  expect([NO_EVENTS, NOT_HELD, OTHER_EVENT, NO_FLAME].map(isFinal)).toEqual([true, true, true, true]);
  expect(isFinal({ problem: "The file is empty", file: "a", hint: "" })).toBe(false);
});

test("what the job logged is of a run and a tag", async () => {
  expect(await held(client.scalars("a", null, signal))).toEqual({ tags: ["loss", "speed"], series: [] });
  expect(await held(client.scalars("a", "speed", signal))).toEqual({
    tags: ["loss", "speed"],
    series: [{ source: "a", tag: "speed", steps: [1], wall_ns: [2], values: [3] }],
  });
  expect(await held(client.scalars("b", null, signal))).toEqual({ tags: [], series: [] });
});

test("events of the steps that are held: the picture, one of them, how busy the recording was", async () => {
  expect([client.held!("id-1"), client.held!("id-2")]).toEqual([null, HELD.held]);
  const part = { from: 0, to: 5, detail_ns: 1 };
  expect(await held(client.timeline("id-2", { ...part, folded: true }, signal))).toBe(FOLDED);
  expect(await held(client.timeline("id-2", { ...part, folded: false }, signal))).toBe(WHOLE);
  expect(await held(client.busy("id-2", { from: 0, to: 500, bins: 9 }, signal))).toBe(HELD.busy);
  expect(await client.busy("id-2", { from: 0, to: 400, bins: 9 }, signal)).toEqual({
    kind: "problem",
    value: OTHER_EVENT,
  });
  const rows = async (event: number, folded: boolean) => {
    const { row, links } = (await held(client.event("id-2", { event, folded }, signal))) as EventDetail;
    return [row, links[0]!.row];
  };
  expect([await rows(0, false), await rows(0, true), await rows(1, true)]).toEqual([
    [3, 2],
    [3, -1],
    [1, -1],
  ]);
  expect((await client.event("id-2", { event: 7, folded: true }, signal)).value).toBe(OTHER_EVENT);
});

test("a search counts the events that are held, of a track or of all, from an instant on", async () => {
  const search = async (words: string, track: number | null = null, from = 0) => {
    const page = await held(client.search("id-2", { words, track, folded: true, from }, signal));
    if (page === "not held") throw new Error(page);
    const { count, total_ns, tracks, next, hits, bins } = page;
    return [count, total_ns, tracks.map(({ count }) => count), next, hits.event, hits.row, bins.indexOf(1)];
  };
  expect(await search("ADD", null, 115)).toEqual([2, 50, [1, 1], 1, [1, 0], [1, 3], 110]);
  expect(await search("add", 0)).toEqual([1, 10, [1, 1], 0, [0], [3], 120]);
  expect(await search(" ")).toEqual([0, 0, [], 0, [], [], -1]);
});

test("a flame graph is that of the grouping that is asked for, where the report holds one", async () => {
  const client = openRecorded(
    RECORDED,
    () => null,
    (span) => (span === "id-1" ? { pages: [FLAME] } : null),
  );
  const answers = [
    await client.flame("id-1", { by: "stack", where: "ran" }, signal),
    await client.flame("id-1", { by: "op", where: "ran" }, signal),
    await client.flame("id-2", { by: "stack", where: "ran" }, signal),
  ];
  expect(answers.map(({ value }) => value)).toEqual([FLAME, NO_FLAME, NO_FLAME]);
});

const lettersOf = (text: string) => gzipSync(text).toString("base64");

test("what was compressed comes back, whatever stands around its letters", async () => {
  for (const text of ["", "the same, the same again; ".repeat(5_000), "µs → ✓"])
    expect(await decompressed(`\n${lettersOf(text)}\n`)).toBe(text);
  expect(unpacked(await decompressed(lettersOf("[1, 2.5, null]")))).toEqual([1, 2.5, null]);
});

test("letters that are cut short or damaged are refused", async () => {
  const letters = lettersOf("all answers of a report ".repeat(100));
  await expect(decompressed(letters.slice(0, 40))).rejects.toThrow();
  await expect(decompressed(`${letters.slice(0, 60)}AAAA${letters.slice(64)}`)).rejects.toThrow();
});

test("columns become rows, at any depth, and an object with a mark as a name stays one", () => {
  const rows = { "#": ["a", "b"], v: [[1, 2, 3], { "#": ["c"], v: [["x", "y", null]] }] };
  expect(
    inRows([
      rows,
      {
        "'": [
          ["#", 1],
          ["v", []],
        ],
      },
      "=",
      null,
    ]),
  ).toEqual([
    [
      { a: 1, b: { c: "x" } },
      { a: 2, b: { c: "y" } },
      { a: 3, b: { c: null } },
    ],
    { "#": 1, v: [] },
    "=",
    null,
  ]);
});
