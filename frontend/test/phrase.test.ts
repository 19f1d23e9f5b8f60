import { expect, test } from "vitest";
import { sentence } from "../src/phrase";

const times = (template: string, a: number, b: number) =>
  sentence({ template, values: { a: { value: a, unit: "ns" }, b: { value: b, unit: "ns" } } }).replaceAll(
    "\u00a0",
    " ",
  );

test.each(["of", "to", "and", "less"])("two figures joined by “%s” have one unit", (word) => {
  expect(times(`{a} ${word} {b} is known.`, 300e3, 2e6)).toBe(`0.3 ${word} 2.0 ms is known.`);
});

test("what a step takes and would take is compared, too", () => {
  expect([times("{a}, not {b}", 4.6e6, 22e6), times("{a} of a steady {b}", 0.9e6, 1.2e6)]).toEqual([
    "4.6, not 22.0 ms",
    "0.9 of a steady 1.2 ms",
  ]);
});

test("so have two with signs", () => {
  expect(times("(+{a} to +{b})", 902e3, 1.4e6)).toBe("(+0.9 to +1.4 ms)");
});

test("a figure of less than a hundredth of the other one keeps its own unit", () => {
  expect([times("{a} less {b}", 603.2e6, 52e3), times("{a} of {b}", 0, 2e6)]).toEqual([
    "603.2 ms less 52 µs",
    "0 of 2.0 ms",
  ]);
});
