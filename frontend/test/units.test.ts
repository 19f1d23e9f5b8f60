import { describe, expect, test } from "vitest";
import { type Figures, factorOf, type Reading, totalsText, writersOf } from "../src/components/figures";
import { scaleOf } from "../src/scale";

const US = 1e3;
const MS = 1e6;
const S = 1e9;
const written = (values: (number | null)[], unit: "auto" | "us" | "ms" | "s" = "auto") => {
  const scale = scaleOf(values, "ns", unit);
  return values.map((value) => scale.text(value).replaceAll(/\s/g, " "));
};

describe("one unit for neighbours", () => {
  test("is that of the largest, as long as most can be read in it", () => {
    expect(written([130 * MS, 2.4 * MS, 900 * US])).toEqual(["130.0 ms", "2.4 ms", "0.9 ms"]);
    expect(written([3 * MS, 18 * US, 14 * US])).toEqual(["3 000 µs", "18 µs", "14 µs"]);
    expect(written([5 * MS, 300 * US, 20 * US, 13 * US])).toEqual(["5 000 µs", "300 µs", "20 µs", "13 µs"]);
    expect(written([12 * MS, 7 * MS, 13 * US])).toEqual(["12.00 ms", "7.00 ms", "0.01 ms"]);
    expect(written([12 * S, 11 * S, 400 * MS])).toEqual(["12.00 s", "11.00 s", "0.40 s"]);
    expect(written([400, 300])).toEqual(["400 ns", "300 ns"]);
  });

  test("is milliseconds for the parts of a step, if those that hold most of it can be read in it", () => {
    const parts = (...values: number[]) =>
      values.map((value) => scaleOf(values, "ns", "auto", true).text(value).replaceAll(/\s/g, " "));
    expect(parts(6.381 * MS, 343 * US, 14 * US, 3 * US)).toEqual(["6.38 ms", "0.34 ms", "0.01 ms", "<0.01 ms"]);
    const small = Array.from({ length: 200 }, () => 7 * US);
    expect(parts(1.2 * MS, ...small).slice(0, 2)).toEqual(["1 200 µs", "7 µs"]);
    expect(parts(900 * US, 20 * US)).toEqual(["900 µs", "20 µs"]);
    expect(parts(12 * S, 100 * MS)).toEqual(["12.00 s", "0.10 s"]);
  });

  test("nothing and what is not known do not choose it", () => {
    expect(written([0, 0, 0, null, 5 * MS])).toEqual(["0 ms", "0 ms", "0 ms", "–", "5.0 ms"]);
    expect(written([0, null])).toEqual(["0 ms", "–"]);
    expect(written([])).toEqual([]);
  });

  test("the reader's own has the decimals that the values need, up to three", () => {
    expect(written([130 * MS, 900 * US], "us")).toEqual(["130 000 µs", "900 µs"]);
    expect(written([1.234 * MS, 18 * US, 14 * US], "ms")).toEqual(["1.234 ms", "0.018 ms", "0.014 ms"]);
    expect(written([65.2 * MS, 12.5 * MS], "s")).toEqual(["0.065 s", "0.013 s"]);
  });

  test("rates are in GB/s from one on", () => {
    const rates = (...values: number[]) =>
      values.map((value) => scaleOf(values, "bytes_per_second").text(value).replace("\u00a0", " "));
    expect(rates(1.488e9, 0.302e9)).toEqual(["1.49 GB/s", "0.30 GB/s"]);
    expect(rates(999e6, 2e6)).toEqual(["999 MB/s", "2.0 MB/s"]);
  });

  test("plain numbers have the decimals that most of them need, whole ones none", () => {
    const numbers = (...values: number[]) => values.map(scaleOf(values, "number").text);
    expect(numbers(20, 200)).toEqual(["20", "200"]);
    expect(numbers(0.2, 1.5, 606.789)).toEqual(["0.20", "1.50", "606.79"]);
    expect(numbers(12.25, 24.21, 606.789)).toEqual(["12.3", "24.2", "606.8"]);
  });
});

describe("totals", () => {
  const step: Reading = { totals: "step", steps: 6, unit: "auto" };
  const whole: Reading = { ...step, totals: "recording" };

  test("are divided by the steps or multiplied with them; what does not add up stays", () => {
    expect([factorOf("recording", step), factorOf("recording", whole)]).toEqual([1 / 6, 1]);
    expect([factorOf("step", step), factorOf("step", whole)]).toEqual([1, 6]);
    expect([factorOf(undefined, step), factorOf(undefined, whole)]).toEqual([1, 1]);
    expect([totalsText(step), totalsText(whole), totalsText({ ...whole, steps: 1 })]).toEqual([
      "a step",
      "in 6\u00a0steps".replace("\u00a0", " "),
      "a step",
    ]);
  });

  type Row = { count: number; total: number; mean: number; median: number };
  const ROWS: Row[] = [
    { count: 750, total: 13.2 * MS, mean: 2.2 * MS, median: 17 * US },
    { count: 3, total: 600 * US, mean: 100 * US, median: 200 * US },
  ];
  const column = (id: keyof Row, rest: Omit<Figures<Row>, "of">) => ({
    id,
    figures: { of: (row: Row) => row[id], ...rest },
  });
  const COLUMNS = [
    column("count", { unit: "count", adds: "recording" }),
    column("total", { unit: "ns", adds: "recording", siblings: "time" }),
    column("mean", { unit: "ns", adds: "step", siblings: "time" }),
    column("median", { unit: "ns" }),
  ];
  const cells = (reading: Reading) => {
    const writers = writersOf(COLUMNS, ROWS, reading);
    return ROWS.map((row) => COLUMNS.map(({ id }) => writers.get(id)!(row[id]).replaceAll(/\s/g, " ")).join("|"));
  };

  test("a total of the span and a mean of the step show the same, in one unit", () => {
    expect(cells(step)).toEqual(["125|2.2 ms|2.2 ms|17 µs", "0.5|0.1 ms|0.1 ms|200 µs"]);
    expect(cells(whole)).toEqual(["750|13.2 ms|13.2 ms|17 µs", "3|0.6 ms|0.6 ms|200 µs"]);
  });
});
