/** A card: its severity, the severity from which a low confidence lowered it, and what one line says of its reason. */

import { renderToString } from "preact-render-to-string";
import { expect, test } from "vitest";
import { Overview } from "../src/views/overview/overview";
import { PAGE, plain, TAB } from "./fixtures/pages";
import { words } from "./fixtures/words";

test("a card that a low confidence lowers says from what, and why", () => {
  const cards = [{ ...PAGE.insights[0]!, severity: "minor", confidence: "low", lowered_from: "major" } as const];
  const page = words(<Overview page={{ ...PAGE, insights: cards }} tab={TAB} compared={null} />);
  expect(page).toContain("|Load batches in worker processes|Minor|, confidence low|");
  expect(page).toContain(
    "|Severity|Lowered from Major because the confidence is low.|Confidence|low. every step shows",
  );
});

test.each([
  ["56 launches a step take 3 µs each: the CPU is late.", "56 launches a step take 3 µs each"],
  ["19 long waits leave the GPU idle; nothing is recorded.", "19 long waits leave the GPU idle"],
  ["Kernels fill 26 % of the GPU with blocks, mostly {op}.", "Kernels fill 26 % of the GPU with blocks"],
  ["Collectives run for 241 ms a step. Most of it is waiting.", "Collectives run for 241 ms a step"],
  ["{op} waits for the GPU in every step.", "aten::item waits for the GPU in every step"],
  ["Loader: it is late.", "Loader: it is late."],
])("folded, a card says the first statement of its reason: %s", (template, statement) => {
  const why = { template, values: { op: { value: "aten::item", unit: "text" as const } } };
  const [first] = PAGE.insights;
  const cards = [first!, { ...first!, id: "other", title: plain("Other"), why }];
  const html = renderToString(<Overview page={{ ...PAGE, insights: cards }} tab={TAB} compared={null} />);
  expect(/class="brief"[^>]*>(.*?)<\/p>/.exec(html)![1]!.replace(/<[^>]*>/g, "")).toBe(statement);
});
