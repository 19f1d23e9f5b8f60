import { describe, expect, test } from "vitest";
import type { Phrase } from "../src/api.gen";
import { type Figures, factorOf, type Reading, totalsText, writersOf } from "../src/components/figures";
import * as format from "../src/format";
import * as phrases from "../src/phrase";
import { scaleOf } from "../src/scale";

const SPACE = "\u00a0";
const THIN = "\u202f";

describe("a quantity has its unit, a no-break space before it, and the digits of its kind", () => {
  test.each([
    [0, "0 ms"],
    [820, "820 ns"],
    [1_499, "1 µs"],
    [412_300, "412 µs"],
    [1_000_000, "1.0 ms"],
    [177_592_167, "177.6 ms"],
    [999_940_000, "999.9 ms"],
    [999_960_000, `1${THIN}000 ms`],
    [-1_240_549_000, `-1${THIN}241 ms`],
    [9_999_400_000, `9${THIN}999 ms`],
    [10_000_000_000, "10.0 s"],
    [123_449_000_000, "123 s"],
    [-22_700_000, "-22.7 ms"],
  ])("%d ns", (value, written) => {
    expect(format.ns(value)).toBe(written.replace(/ (?=[a-zµ])/, SPACE));
  });

  test.each([
    [0.334, "33 %", "33.4 %"],
    [0, "0 %", "0 %"],
    [1, "100 %", "100.0 %"],
    [0.998, "99.8 %", "99.8 %"],
    [0.9999, ">99.9 %", ">99.9 %"],
    [0.993, "99.3 %", "99.3 %"],
    [0.985, "98.5 %", "98.5 %"],
    [0.9, "90 %", "90.0 %"],
    [0.0996, "10 %", "10.0 %"],
    [0.08, "8 %", "8.0 %"],
    [0.015, "1.5 %", "1.5 %"],
    [0.0004, "<0.1 %", "<0.1 %"],
    [0.005, "0.5 %", "0.5 %"],
    [1.234, "123 %", "123.4 %"],
  ])("share %d", (value, prose, table) => {
    expect(format.share(value)).toBe(prose.replace(" ", SPACE));
    expect(format.percent(value)).toBe(table.replace(" ", SPACE));
  });

  test.each([
    [812, "812 B"],
    [306_400, "306 kB"],
    [1_159_569, "1.2 MB"],
    [1_240_000_000, `1${THIN}240 MB`],
    [12_340_000_000, "12.3 GB"],
  ])("%d bytes", (value, written) => {
    expect(format.bytes(value)).toBe(written.replace(/ (?=[a-zA-Z])/, SPACE));
  });

  test.each([
    [812, "812 B/s"],
    [2_500_000, "2.5 MB/s"],
    [640_000_000, "640 MB/s"],
    [1_488_000_000, "1.49 GB/s"],
    [29_640_000_000, "29.6 GB/s"],
  ])("%d bytes a second", (value, written) => {
    expect(format.rate(value)).toBe(written.replace(" ", SPACE));
  });

  test("counts group their thousands", () => {
    expect(format.count(75_718)).toBe(`75${THIN}718`);
    expect(format.count(1_234_567)).toBe(`1${THIN}234${THIN}567`);
    expect(format.count(999)).toBe("999");
  });
});

test("what cannot be measured is a dash, never a number", () => {
  expect(format.ns(null)).toBe("–");
  expect(format.ns(Number.NaN)).toBe("–");
  expect(format.figure(null, "fraction")).toEqual({ number: "–", unit: "" });
  expect(format.scaleFor(5e6, "ns").text(null)).toBe("–");
});

test("what is not zero never reads as zero", () => {
  expect(format.scaleFor(100e6, "ns").text(20_000)).toBe(`<0.1${SPACE}ms`);
  expect(format.scaleFor(100e6, "ns").text(0)).toBe(`0${SPACE}ms`);
});

test("one scale writes all its numbers in the unit of the largest", () => {
  const scale = format.scaleFor(177_592_167, "ns");
  expect([scale.unit, scale.number(98_600_000), scale.text(90_000), scale.of(59_300_000)]).toEqual([
    "ms",
    "98.6",
    `0.1${SPACE}ms`,
    59.3,
  ]);
});

test("a change has its sign; shares change by points", () => {
  expect(format.change(177.6e6, 154.9e6, "ns")).toBe(`-22.7${SPACE}ms`);
  expect(format.change(0.555, 0.636, "fraction")).toBe(`+8.1${SPACE}points`);
  expect(format.change(0.491, 0.4910001, "fraction")).toBe("unchanged");
});

test("progress is written in the unit of the whole", () => {
  expect(format.bytesOf(412e6, 1240e6)).toBe(`412 of 1${THIN}240${SPACE}MB`);
  expect(format.bytesOf(90, 66)).toBe(`66 of 66${SPACE}B`);
});

test("words for those who wait", () => {
  expect([format.wait(1.6), format.wait(0), format.wait(200)]).toEqual([`2${SPACE}s`, `1${SPACE}s`, `3${SPACE}min`]);
  expect([format.roughCount(2_310_000), format.roughCount(61_204)]).toEqual([`2.31${SPACE}million`, `61${THIN}204`]);
  expect([format.rangeText("5", "10"), format.rangeText("5", "5")]).toEqual(["5–10", "5"]);
  expect(format.date(1_623_143_089_861e6)).toBe(`8${SPACE}June${SPACE}2021`);
});

describe("a phrase", () => {
  const phrase: Phrase = {
    template: "Load {what}: [up to {gain} a step ({share})], which would leave about {left}. {missing}",
    values: {
      what: { value: "[x] {gain}", unit: "text" },
      gain: { value: 59_300_000, unit: "ns" },
      share: { value: 0.334, unit: "fraction" },
      left: { value: 118_292_167, unit: "ns" },
    },
  };

  test("fills its places, and never reads a name from a trace as a template", () => {
    expect(phrases.sentence(phrase)).toBe(
      `Load [x] {gain}: up to 59.3${SPACE}ms a step (33${SPACE}%), which would leave about 118${SPACE}ms. {missing}`,
    );
  });

  test("stresses what stands in brackets, and knows code", () => {
    const typed: Phrase = { template: "Set [{code}] now", values: { code: { value: "num_workers=2", unit: "code" } } };
    expect(phrases.segmentsOf(typed)).toEqual([
      { text: "Set ", code: false, strong: false },
      { text: "num_workers=2", code: true, strong: true },
      { text: " now", code: false, strong: false },
    ]);
  });

  test("a place without a value is a dash", () => {
    expect(phrases.sentence({ template: "{a}", values: { a: { value: null, unit: "ns" } } })).toBe("–");
  });
});

test("a long name keeps both ends", () => {
  expect(format.shortened("experiments/resnet50/attempt_7", 13)).toBe("experi…empt_7");
  expect(format.shortened("short", 13)).toBe("short");
});

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
    expect(written([12 * S, 11 * S, 400 * MS])).toEqual(["12.0 s", "11.0 s", "0.40 s"]);
    expect(written([400, 300])).toEqual(["400 ns", "300 ns"]);
  });

  test("is milliseconds for the parts of a step, if those that hold most of it can be read in it", () => {
    const parts = (...values: number[]) =>
      values.map((value) => scaleOf(values, "ns", "auto", true).text(value).replaceAll(/\s/g, " "));
    expect(parts(6.381 * MS, 343 * US, 14 * US, 3 * US)).toEqual(["6.38 ms", "0.34 ms", "0.01 ms", "<0.01 ms"]);
    const small = Array.from({ length: 200 }, () => 7 * US);
    expect(parts(1.2 * MS, ...small).slice(0, 2)).toEqual(["1 200 µs", "7 µs"]);
    expect(parts(900 * US, 20 * US)).toEqual(["900 µs", "20 µs"]);
    expect(parts(12 * S, 100 * MS)).toEqual(["12.0 s", "0.10 s"]);
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
    expect(cells(step)).toEqual(["125|2.20 ms|2.20 ms|17 µs", "0.5|0.10 ms|0.10 ms|200 µs"]);
    expect(cells(whole)).toEqual(["750|13.20 ms|13.20 ms|17 µs", "3|0.60 ms|0.60 ms|200 µs"]);
  });
});
