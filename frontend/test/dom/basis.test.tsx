import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { Evidence } from "../../src/api.gen";
import { Basis } from "../../src/components/card";
import { CATALOGUE } from "../fixtures/meanings";
import { INSIGHT } from "../fixtures/pages";

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
    "Fires when",
    "Similar pattern",
    "Needs",
    "Jobs",
    "Left out",
    "Longest",
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
