/** The summary as Markdown: what it says, and that names from a trace are not interpreted as markup. */

import { expect, test } from "vitest";
import { summaryMarkdown } from "../src/views/markdown";
import { PAGE, TAB } from "./fixtures/pages";

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
