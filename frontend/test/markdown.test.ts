/** The summary as Markdown: what it says, and that names from a trace are not interpreted as markup. */

import { expect, test } from "vitest";
import { comparisonMarkdown, summaryMarkdown } from "../src/views/markdown";
import { COMPARED } from "./fixtures/compared";
import { PAGE, plain, TAB } from "./fixtures/pages";

const summary = (page = PAGE) => summaryMarkdown(page, TAB);

test("says the verdict, the mean step by part, the figures and what to do", () => {
  const text = summary();
  expect(text.split("\n")[0]).toBe("**A step takes long.**");
  expect(text).toContain("| Part | Mean step | Share |\n| --- | ---: | ---: |\n| Kernel | 98.0 ms | 61.3 % |\n");
  expect(text).toContain("| Data loading | 60.0 ms | 37.5 % |\n| **Step** | **160.0 ms** |  |");
  expect(text).not.toContain("Communication"); // this trace has no communication
  expect(text).toContain("| Step time | 160.0 ms |");
  expect(text).not.toContain("GPU utilization"); // it is not known for this trace
  expect(text).toContain(
    "1. **Load batches in worker processes**: up to **60.0 ms** a step (38 %); major, confidence high.\n" +
      "   Two workers hide the wait.\n   ```python\n   num_workers=2\n   ```",
  );
  expect(text).toContain("2. **Then use the tensor cores**: major");
  expect(text).toMatch(/<sub>Step Insights .*<\/sub>$/);
});

test("a card that a low confidence lowers says from what", () => {
  const cards = [{ ...PAGE.insights[0]!, severity: "minor", confidence: "low", lowered_from: "major" } as const];
  expect(summary({ ...PAGE, insights: cards })).toContain("minor, lowered from major, confidence low.");
});

test("a name with marks of Markdown or HTML stays a name", () => {
  const head = { ...PAGE.head, run: "a|b</sub>\n# x", worker: "*w_1*" };
  const name = { value: "f`g``h", unit: "code" as const };
  const headline = { ...PAGE.headline, action: { template: "See {name} [now].", values: { name } } };
  const text = summary({ ...PAGE, head, headline });
  expect(text).toContain("See ```f`g``h``` **now**.");
  expect(text).toContain("a\\|b\\</sub\\> \\# x · \\*w\\_1\\*");
});

test("strong words that follow each other are one, with the spaces around them outside", () => {
  const values = { gain: { value: 17_900_000, unit: "ns" as const }, part: { value: 0.13, unit: "fraction" as const } };
  const action = (template: string) => {
    const headline = { ...PAGE.headline, action: { template, values } };
    return summary({ ...PAGE, headline }).split("\n\n")[1];
  };
  expect(action("Use graphs: [up to {gain} a step ({part})].")).toBe("Use graphs: **up to 17.9 ms a step (13 %)**.");
  expect(action("Save[ {gain} ]and go[ ]on.")).toBe("Save **17.9 ms** and go on.");
});

test("of a rank, what its job says and does comes before what it says itself", () => {
  const job = { headline: HEADLINE_OF_JOB, insights: [{ ...PAGE.insights[0]!, title: plain("Wait for no rank") }] };
  const text = summaryMarkdown(PAGE, TAB, job);
  const at = ["**Rank 1 is late.**", "1. **Wait for no rank**", "**This rank alone**", "**A step takes long.**"];
  expect(at.map((words) => text.indexOf(words)).every((place, each, all) => place > (all[each - 1] ?? -1))).toBe(true);
  expect(text.startsWith(at[0]!)).toBe(true);
});

const HEADLINE_OF_JOB = { ...PAGE.headline, verdict: plain("Rank 1 is late."), action: null, basis: null };

test("of two runs it says what changed in which part, by how much, and whether advice was kept", () => {
  const { step } = COMPARED.comparison;
  const page = (of: Partial<typeof COMPARED.comparison>) => ({
    ...COMPARED,
    comparison: { ...COMPARED.comparison, step: { ...step, low: -32e6, high: -28e6 }, ...of },
  });
  const names = { name: "b", own: "a|*" };
  expect(comparisonMarkdown(page({}), names, TAB).split("\n")).toEqual([
    ...["**a is 1.43x faster than b.**", "", "Data loading accounts for most of it.", ""],
    ...["Before: b (worker0). After: a (worker0).", ""],
    "| Part of the mean step | b | a\\|\\* | Change | 95 % interval |",
    "| --- | ---: | ---: | ---: | ---: |",
    "| Kernel | 50.0 ms | 45.0 ms | -5.0 ms | – |",
    "| Memcpy | 5.0 ms | 5.0 ms | 0 ms | – |",
    "| Data loading | 40.0 ms | 12.0 ms | -28.0 ms | – |",
    "| Other | 5.0 ms | 8.0 ms | +3.0 ms | – |",
    "| **Step** | 100.0 ms | 70.0 ms | -30.0 ms | -32.0 to -28.0 ms |",
    ...["", "- 1 step of {run} is not compared. It holds what comes once.", ""],
    ...["More workers load the data: Data loading is 7.0 ms longer than predicted.", ""],
    `<sub>Step Insights ${TAB.meanings.version}</sub>`,
  ]);
  expect(comparisonMarkdown(page({ same_work: false }), names, TAB)).not.toContain("| Kernel |");
});
