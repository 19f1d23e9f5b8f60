import { cleanup, fireEvent, render, screen, within } from "@testing-library/preact";
import { useState } from "preact/hooks";
import { expect, test } from "vitest";
import { parse, write } from "../../src/address/url";
import type { Evidence, PageOf, Tried } from "../../src/api.gen";
import { Basis } from "../../src/components/card";
import { summaryMarkdown } from "../../src/views/markdown";
import { Overview } from "../../src/views/overview/overview";
import { triedLine } from "../../src/views/tried";
import { CATALOGUE } from "../fixtures/meanings";
import { INSIGHT, PAGE, parts, plain, TAB } from "../fixtures/pages";

const MS = 1_000_000;

/** Steps of 200 ms as recorded, of which 160 ms repeat. */
const after = (ms: number) => ({
  duration_ns: ms * MS,
  parts_ns: parts({ kernel: ms * MS }),
  saved_ns: (160 - ms) * MS,
});

/** The second card gains nothing alone, but gains something after the first. */
const TRIED: Tried = {
  ids: ["input_bound", "tensor"],
  steps: [after(160), after(100), after(160), after(42)],
  ticked: ["input_bound"],
  why_not: plain("No replay of its change."),
};

const UNTRIED = { ...PAGE.insights[1]!, id: "other", title: plain("Fuse the optimizer"), gain_ns: 5 * MS };

const OURS: PageOf<"overview"> = { ...PAGE, insights: [...PAGE.insights, UNTRIED], tried: TRIED };

let hash = "";

function Page({ page = OURS }: { page?: PageOf<"overview"> }) {
  const [, again] = useState(0);
  const tab = {
    ...TAB,
    state: parse(hash),
    update: (changes: object) => {
      hash = write(hash, changes);
      again((count) => count + 1);
    },
  };
  return (
    <>
      {triedLine(page, tab)}
      <Overview page={page} tab={tab} compared={null} />
    </>
  );
}

const box = (title: string) => screen.getByRole("checkbox", { name: `Try: ${title}` }) as HTMLInputElement;
const then = (title: string) => box(title).closest("li")?.querySelector(".then")?.textContent;
const words = (selector: string) => document.querySelector(selector)?.textContent?.replaceAll("\u00a0", " ");
const shownText = () => words(".tried");
const ghost = () => words(".step-bar .row-name.thin");
const LOAD = "Load batches in worker processes";
const CORES = "Then use the tensor cores";

test("the first card is ticked, and each tick moves headline, bar, cards and address", () => {
  hash = "#tb_steptime";
  render(<Page />);
  expect([box(LOAD).checked, box(CORES).checked]).toEqual([true, false]);
  expect([shownText(), ghost()]).toEqual([`${LOAD}: 160.0100.0 ms (est.)`, "Ticked: est. 100 ms"]);
  expect(then(CORES)).toBe("then est. 58.0\u00a0ms");
  expect(then(LOAD)).toBeUndefined();
  fireEvent.click(box(CORES));
  expect([shownText(), ghost()]).toEqual(["With the 2 changes ticked: 160.042.0 ms (est.)", "Ticked: est. 42.0 ms"]);
  expect(parse(hash).try).toEqual(new Set(["input_bound", "tensor"]));
  fireEvent.click(box(LOAD));
  expect(shownText()).toBe(`${CORES}: 160.0160.0 ms (est.)`);
  expect(parse(hash).try).toEqual(new Set(["tensor"]));
});

test("what is gone is a share of the steady step, whatever else the mean step has", () => {
  hash = "#tb_steptime";
  render(<Page page={{ ...OURS, result: { ...OURS.result, mean_duration_ns: 200 * MS } }} />);
  expect(screen.getByText("38 % less")).toBeDefined();
});

test("nothing ticked: no second line and no ghost, also after a reload", () => {
  hash = "#tb_steptime";
  render(<Page />);
  fireEvent.click(screen.getByRole("button", { name: "Untick all" }));
  expect([shownText(), ghost()]).toEqual([undefined, undefined]);
  cleanup();
  render(<Page />);
  expect([box(LOAD).checked, box(CORES).checked, shownText()]).toEqual([false, false, undefined]);
  expect(screen.queryByRole("button", { name: "Untick all" })).toBeNull();
});

test("a card of the address that is gone is ignored", () => {
  hash = "#tb_steptime&p.tb_steptime.try=gone%2Ctensor%2Cinput_bound";
  render(<Page />);
  expect(shownText()).toContain("With the 2 changes ticked");
});

test("a card that cannot be replayed has no box, and says why on hover", () => {
  hash = "#tb_steptime";
  render(<Page />);
  const card = document.querySelector<HTMLElement>('[data-insight="other"]')!;
  expect(within(card).queryByRole("checkbox")).toBeNull();
  expect(card.querySelector(".gain")?.getAttribute("data-hint")).toContain("No replay of its change.");
});

test("where no card can be ticked, the bar shows the step after the first one", () => {
  hash = "#tb_steptime&p.tb_steptime.try=input_bound";
  render(<Page page={{ ...OURS, tried: { ...TRIED, ids: [], steps: [], ticked: [] } }} />);
  expect(screen.queryAllByRole("checkbox")).toEqual([]);
  expect([shownText(), ghost()]).toEqual([undefined, "Could be 118 ms"]);
});

test("Markdown names the cards that are ticked", () => {
  const text = summaryMarkdown(OURS, { ...TAB, state: { try: new Set(["input_bound", "tensor"]) } });
  expect(text).toContain(`With “${LOAD}”, “${CORES}”: from 160.0 to **42.0 ms** a step (est.).`);
  expect(summaryMarkdown(OURS, { ...TAB, state: { try: new Set() } })).not.toContain("(est.)");
});

test("one card is open at a time, the first at the beginning; x ticks the card in focus", () => {
  hash = "#tb_steptime";
  render(<Page />);
  const open = () =>
    screen
      .getAllByRole("heading", { level: 3 })
      .map((each) => within(each).queryByRole("button"))
      .filter((each) => each?.getAttribute("aria-expanded") === "true")
      .map((each) => each!.textContent);
  const opener = (title: string) => screen.getByRole("button", { name: title });
  expect(open()).toEqual([LOAD]);
  fireEvent.click(opener(CORES));
  expect(open()).toEqual([CORES]);
  fireEvent.keyDown(opener(CORES), { key: "x", ctrlKey: true });
  expect(box(CORES).checked).toBe(false);
  fireEvent.keyDown(opener(CORES), { key: "x" });
  expect(box(CORES).checked).toBe(true);
  fireEvent.click(opener(CORES));
  expect(open()).toEqual([]);
});

const RANGES = [
  { step: "5", start_ns: 1_000_000, end_ns: 4_000_000 },
  { step: "7", start_ns: 9_000_000, end_ns: 9_500_000 },
];

test("a card unfolds to what it rests on, and each range opens", () => {
  const opened: Evidence[] = [];
  const insight = { ...INSIGHT, evidence: RANGES };
  render(<Basis insight={insight} meaning={CATALOGUE.cards[0]} openRange={(range) => opened.push(range)} />);
  const terms = [...document.querySelectorAll("dt")].map((term) => term.textContent);
  expect(terms).toEqual([
    "Gain",
    "Confidence",
    "Longest",
    "Fires when",
    "Similar pattern",
    "Needs",
    "Jobs",
    "Left out",
  ]);
  expect(document.querySelector("dl")?.textContent).toContain("late batches are worth a card.");
  expect(document.querySelector("dl code")?.textContent).toBe("loader_overhead");
  fireEvent.click(screen.getByText(/in step 7/));
  expect(opened).toEqual([RANGES[1]]);
});

test("without ranges and meaning there are formula and confidence", () => {
  render(<Basis insight={{ ...INSIGHT, evidence: [] }} meaning={undefined} openRange={() => {}} />);
  expect([...document.querySelectorAll("dt")].map((term) => term.textContent)).toEqual(["Gain", "Confidence"]);
});

test("of a long answer the first lines are shown, until the reader wants all of them", () => {
  const meaning = { id: "a", fires: "", answers: { "Similar pattern": "long ".repeat(100), Needs: "kernels." } };
  render(<Basis insight={INSIGHT} meaning={meaning} openRange={() => {}} />);
  expect(document.querySelector(".cut")?.textContent).toContain("long long");
  fireEvent.click(screen.getByRole("button", { name: "Show all" }));
  expect(document.querySelector(".cut")).toBeNull();
  expect(screen.queryByRole("button", { name: "Show all" })).toBeNull();
});
