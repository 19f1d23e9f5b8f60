/** Runs of the same work: what Compare shows first, what it requests before it draws, and what Trends shows. */

import { fireEvent, screen, waitFor, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { RunLine, TrendsPage } from "../../src/api.gen";
import type { Client } from "../../src/server/client";
import { COMPARED } from "../fixtures/compared";
import { trendSpan, trendsPage } from "../fixtures/figures";
import { HEAD, index, PAGE, parts, plain, ready, run, span } from "../fixtures/pages";
import { GONE, keys, openTab, press, says } from "./fake_server";

const MS = 1_000_000;
const DAY_NS = 86_400e9;

/** The name, the work, and the day of recording. */
const RUNS = [
  ["alone", 0, 1],
  ["eager", 1, 2],
  ["graphed", 1, 3],
  ["amp", 1, 4],
] as const;

const line = (name: string, work: number, id: number): RunLine => ({
  ...{
    run: name,
    worker: "worker0",
    number: id,
    span: `id-${id}`,
    work,
    others: 0,
    ranks: 1,
    step_ns: 10 * MS,
    trend_ns: [10 * MS],
  },
  ...{ parts_ns: parts({ kernel: 10 * MS }), bound: "gpu", fix: null, agreement: null, gain_ns: 0, gain_fraction: 0 },
  ...{ job: plain("training"), machine: plain("T4") },
});

function server() {
  const spans = RUNS.map(([, , day], at) => span(at + 1, "ready", { recorded_ns: day * DAY_NS }));
  return {
    ...says(),
    index: ready(index(RUNS.map(([name], at) => run(name, [spans[at]!])))),
  };
}

const LINES = RUNS.map(([name, work], at) => line(name, work, at + 1));

const client = (more: Partial<Client> = {}): Partial<Client> => ({
  runs: async () => ready({ headline: null, lines: LINES, left: 0 }),
  ...more,
});

const bar = async () => (await screen.findByRole("region", { name: "Comparison" })).textContent;

test.each([
  ["graphed", "eager", "last run before it"],
  ["amp", "graphed", "last run before it"],
  ["eager", "graphed", "first run after it"],
])("Compare of %s opens on %s and says why: it is the %s of the same work", async (name, base, why) => {
  const requests = await openTab(`view=compare&run=${name}`, server(), client());
  expect(await bar()).toContain(`Changes: ${name} less ${base}, the ${why} that does the same work.`);
  expect(requests.log.filter((route) => route.startsWith("compare "))).toHaveLength(1);
  expect(keys().with).toBeUndefined();
});

test("of a run that was chosen Compare does not say why", async () => {
  await openTab("view=compare&run=graphed&with=eager/worker0/2", server(), client());
  expect(await bar()).toMatch(/^Changes: graphed less eager(?!,)/);
});

test("of a run that is alone in its work nothing is compared, and it says so", async () => {
  await openTab("view=compare&run=alone", server(), client());
  expect(await screen.findByRole("heading", { name: "Choose two experiments to compare." })).toBeTruthy();
  expect(screen.getByText("No other run is known to do the same work as alone.")).toBeTruthy();
});

test("where the list of runs did not come Compare does not say that no run does the same work", async () => {
  await openTab("view=compare&run=graphed", server(), client({ runs: async () => GONE }));
  expect(await screen.findByRole("heading", { name: "Choose two experiments to compare." })).toBeTruthy();
  expect(screen.queryByText(/No other run is known/)).toBeNull();
});

test("a comparison that is ended in Compare does not begin again by itself", async () => {
  await openTab("view=compare&run=graphed", server(), client());
  await bar();
  press("End the comparison");
  expect(await screen.findByRole("heading", { name: "Choose two experiments to compare." })).toBeTruthy();
  expect(screen.queryByRole("region", { name: "Comparison" })).toBeNull();
  expect(screen.queryByText(/is known to do the same work/)).toBeNull();
});

const OTHER_WORK = { ...COMPARED, comparison: { ...COMPARED.comparison, same_work: false } };

test("two that are not alike are drawn when that is wanted, each on its own axis", async () => {
  const one = { ...server(), compare: ready(OTHER_WORK) };
  await openTab("view=compare&run=graphed&with=alone/worker0/1", one, client());
  await screen.findByRole("button", { name: "Compare them all the same" });
  const bars = () => screen.queryAllByRole("figure").map((figure) => figure.getAttribute("aria-label"));
  expect(bars()).toEqual([]);
  press("Compare them all the same");
  await waitFor(() => expect(bars()).toHaveLength(2));
  expect(screen.queryByRole("slider", { name: /^Mean step/ })).toBeNull();
  expect(keys()).toMatchObject({ anyway: "alone/worker0/1" });
});

test("the question leads to a run of the same work", async () => {
  const one = { ...server(), compare: ready(OTHER_WORK) };
  await openTab("view=compare&run=graphed&with=alone/worker0/1", one, client());
  fireEvent.click(await screen.findByRole("button", { name: "with eager, which does the same" }));
  expect(keys().with).toBe("eager/worker0/2");
});

test("the Overview of two on other GPUs asks first, then parts the axes", async () => {
  const other = { ...PAGE, head: { ...HEAD, id: "id-1", device_names: ["Another GPU"] } };
  const view: Client["view"] = async (id) => ready(id === "id-1" ? other : PAGE) as never;
  await openTab("run=graphed&with=alone/worker0/1", server(), client({ view }));
  expect(await screen.findByText(/times differ for that reason too/)).toBeTruthy();
  const bars = () => document.querySelectorAll(".step-bar");
  const rows = () => [...bars()].map((each) => each.querySelectorAll(".stack:not(.thin)").length);
  expect(rows()).toEqual([1]);
  press("Compare them all the same");
  await waitFor(() => expect(rows()).toEqual([1, 1]));
});

test("Trends shows the run in focus and those of the same work; all on request", async () => {
  const shown: (readonly string[])[] = [];
  const page = (names: readonly string[]): TrendsPage =>
    trendsPage(names.map((name) => trendSpan({ run: name, number: 1, first: 5, ms: [100, 102] })));
  const trends: Client["trends"] = async (runs) => {
    shown.push(runs);
    return ready(page(runs.length > 0 ? runs : RUNS.map(([name]) => name)));
  };
  await openTab("view=trends&run=graphed", server(), client({ trends }));
  const legend = within(await screen.findByRole("list", { name: "Runs" }));
  expect(legend.getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual([
    "graphed, in focus",
    "eager",
    "amp",
  ]);
  press("3 of 4…");
  press("Show all");
  await waitFor(() => expect(shown).toEqual([["eager", "graphed", "amp"], []]));
  expect(keys()).toMatchObject({ among: "all" });
  press("Those of the same work");
  expect(keys().among).toBeUndefined();
});
