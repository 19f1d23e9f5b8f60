/** How the answers of a report are packed. */

import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { decompressed, inRows, unpacked } from "../src/server/packed";

const lettersOf = (text: string) => gzipSync(text).toString("base64");

test("what was compressed comes back, whatever stands around its letters", async () => {
  for (const text of ["", "the same, the same again; ".repeat(5_000), "µs → ✓"])
    expect(await decompressed(`\n${lettersOf(text)}\n`)).toBe(text);
  expect(unpacked(await decompressed(lettersOf("[1, 2.5, null]")))).toEqual([1, 2.5, null]);
});

test("letters that are cut short or damaged are refused", async () => {
  const letters = lettersOf("all answers of a report ".repeat(100));
  await expect(decompressed(letters.slice(0, 40))).rejects.toThrow();
  await expect(decompressed(`${letters.slice(0, 60)}AAAA${letters.slice(64)}`)).rejects.toThrow();
});

test("columns become rows, at any depth, and an object with a mark as a name stays one", () => {
  const rows = { "#": ["a", "b"], v: [[1, 2, 3], { "#": ["c"], v: [["x", "y", null]] }] };
  expect(
    inRows([
      rows,
      {
        "'": [
          ["#", 1],
          ["v", []],
        ],
      },
      "=",
      null,
    ]),
  ).toEqual([
    [
      { a: 1, b: { c: "x" } },
      { a: 2, b: { c: "y" } },
      { a: 3, b: { c: null } },
    ],
    { "#": 1, v: [] },
    "=",
    null,
  ]);
});
