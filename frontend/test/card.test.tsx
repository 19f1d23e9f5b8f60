/** A card: its severity, and the severity from which a low confidence lowered it. */

import { expect, test } from "vitest";
import { Overview } from "../src/views/overview/overview";
import { PAGE, TAB } from "./fixtures/pages";
import { words } from "./fixtures/words";

test("a card that a low confidence lowers says from what, and why", () => {
  const cards = [{ ...PAGE.insights[0]!, severity: "minor", confidence: "low", lowered_from: "major" } as const];
  const page = words(<Overview page={{ ...PAGE, insights: cards }} tab={TAB} compared={null} />);
  expect(page).toContain("|Load batches in worker processes|Minor|, confidence low|");
  expect(page).toContain(
    "|Severity|Lowered from Major because the confidence is low.|Confidence|low. every step shows",
  );
});
