/** The path at the top: what of it can be chosen, what it is called, and what it leads to. */

import { fireEvent, screen, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import { index, ready, run, span } from "../fixtures/pages";
import { keys, openTab, press, says } from "./fake_server";

const steps = (first: number, last: number) => ({ first_step: String(first), last_step: String(last) });

/** The parts of the path as they are read aloud; those with a choice in brackets. */
function path(): string[] {
  const bar = screen.getByRole("banner");
  const parts = [...bar.querySelectorAll(".chosen .pick")];
  return parts.map((part) => {
    const text = part.textContent!.replace(/\s/g, " ");
    return part.matches("button") ? `[${text}]` : text;
  });
}

async function open(address: string, runs = RUNS) {
  const server = says();
  server.index = ready(index(runs));
  const list = async () => ({ kind: "gone" as const, value: server.index.value as never });
  await openTab(address, server, { runs: list });
  await screen.findByRole("banner");
}

const RUNS = [
  run("eager", [span(1, "ready", steps(3, 9))], "eager"),
  run("ranks", [span(2, "ready", steps(5, 5)), span(3, "ready", steps(7, 9))]),
];
RUNS[1]!.workers = ["r0", "r1"].map((name, rank) => ({ name, rank, spans: RUNS[1]!.workers[0]!.spans }));

test("a single worker named as its run and a single span are no choice", async () => {
  await open("run=eager");
  expect(path()).toEqual(["All runs", "[Runeager]", "Spansteps 3–9", "[Compare with none]", "[Totalsper step]"]);
});

test("ranks and spans are chosen in the path; a comparison is named, and ended there", async () => {
  await open("run=ranks&worker=r1&span=3&with=eager/eager/1");
  expect(path()).toEqual([
    ...["All runs", "[Runranks]", "[Workerrank 1]", "[span3 of 2, steps 7–9]"],
    ...["[Compare witheager]", "[Totalsper step]"],
  ]);
  press(/Worker/);
  fireEvent.click(within(screen.getByRole("listbox", { name: "Worker" })).getByRole("option", { name: /rank 0/ }));
  expect(keys()).toMatchObject({ run: "ranks", worker: "r0", span: 3 });
  press(/Compare with/);
  fireEvent.click(screen.getByRole("option", { name: /none/ }));
  expect(keys().with).toBeUndefined();
});

test("without known steps a single span is left out; one run alone has neither list nor comparison", async () => {
  await open("", [run("alone", [span(1, "ready", { first_step: null, last_step: null })], "alone")]);
  expect(path()).toEqual(["Runalone"]);
});
