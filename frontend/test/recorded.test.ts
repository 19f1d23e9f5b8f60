/** Answers from a report: what it holds, and that what it does not hold says so. */

import { expect, test } from "vitest";
import type { ComparePage, TrendsPage } from "../src/api.gen";
import type { Answer } from "../src/server/client";
import { isFinal, NO_EVENTS, NOT_HELD, openRecorded, type Recorded } from "../src/server/recorded";
import { CHAIN, COMPARED } from "./fixtures/compared";
import { trendSpan } from "./fixtures/figures";
import { CATALOGUE } from "./fixtures/meanings";
import { index, PAGE, run, span } from "./fixtures/pages";

const said = (template: string, titles: TrendsPage["titles"] = {}) => ({
  headline: { verdict: { template, values: {} }, action: null, view: null, code: null, basis: null },
  titles,
});
const title = (template: string) => ({ template, values: {} });

const ROWS = ["a", "b", "c"].map((run) => trendSpan({ run, number: 1, first: 5, ms: [100] }));

const PAIR: ComparePage = {
  ...COMPARED,
  base: { run: "a", worker: "w", spans: ["id-1", "id-2"] },
  candidate: { run: "b", worker: "w", spans: ["id-3"] },
};

const RECORDED: Recorded = {
  written_ms: 0,
  index: index([run("a", [span(1), span(2)]), run("b", [span(3)]), run("c", [span(4)])]),
  catalogue: CATALOGUE,
  pages: { "id-1": { overview: PAGE as never } },
  trends: {
    rows: ROWS,
    changes: [],
    of_all: { "": said("All."), b: said("All, b first.") },
    of_one: {
      a: said("a."),
      b: said("b.", { steps: title("Steps of b."), gpu_utilization: title("All of b.") }),
      c: said("c."),
    },
  },
  pairs: [PAIR],
  chain: CHAIN,
  chain_runs: ["a", "b", "c"],
};

const client = openRecorded(RECORDED);
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
  expect([NO_EVENTS, NOT_HELD].map(isFinal)).toEqual([true, true]);
  expect(isFinal({ problem: "The file is empty", file: "a", hint: "" })).toBe(false);
});
