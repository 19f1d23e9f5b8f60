/** Figures and lines that the tab and the terminal both write: the package's tests read the same cases. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lineName } from "../src/code_line";
import { share } from "../src/format";

interface Spellings {
  shares: [number, string][];
  frames: [string, string][];
}

const CASES = join(import.meta.dirname, "../../tests/unit/text/spellings.json");
const { shares, frames }: Spellings = JSON.parse(readFileSync(CASES, "utf8"));

test.each(shares)("the share %d in a sentence", (fraction, written) => {
  expect(share(fraction)).toBe(written.replace(" ", "\u00a0"));
});

test.each(frames)("the line %s", (frame, written) => {
  expect(lineName(frame)).toBe(written);
});
