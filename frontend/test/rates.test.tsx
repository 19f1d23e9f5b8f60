/** The table of rates of Tensor cores: how fast matrix work is, what is achievable, and why some of it is slow. */

import { describe, expect, test } from "vitest";
import type { DeviceSplit, ProductRate, ProductRates } from "../src/api.gen";
import { csv, tableData } from "../src/components/data_table";
import { fileColumns, sorted, Table } from "../src/components/table";
import { bestOf, rateColumns } from "../src/views/tensor_cores/rate_table";
import { TensorCores } from "../src/views/tensor_cores/tensor_cores";
import { coresPage, DEVICE, tab } from "./fixtures/figures";
import { MEANINGS } from "./fixtures/meanings";
import { because } from "./fixtures/pages";
import { rowsOf, words } from "./fixtures/words";

const MS = 1_000_000;

const rate = (total: number, tflops: number, more: Partial<ProductRate> = {}): ProductRate => ({
  site: {
    kernel: "gemm_align1",
    op: "aten::bmm",
    shapes: "[[8,64,33],[8,33,64]]",
    dtypes: '["c10::Half","c10::Half"]',
    module: "Attention",
    source: null,
    backward: false,
    longest: null,
  },
  dtype: "c10::Half",
  count: 2,
  total_ns: total * MS,
  tflops,
  attainable_tflops: 200,
  causal: null,
  slow: null,
  why: null,
  gain_ns: 0,
  ...more,
});
const RATES: ProductRates = {
  rows: [
    rate(40, 20, { slow: "alignment", why: because("misaligned_kernel"), gain_ns: 36 * MS }),
    rate(10, 200, { causal: true, attainable_tflops: null }),
  ],
  best_tflops: { "c10::Half": 200 },
  peak_tflops: { "c10::Half": 312 },
};

const gain = (text: string) => ({ "Gain, up to": text });

describe("how fast matrix work is", () => {
  test("a row says op, inputs, module, rate and what is in reach, and a slow one why and its gain", () => {
    const columns = rateColumns(RATES.rows, MEANINGS);
    const table = (
      <Table
        label="Rates"
        columns={columns}
        rows={RATES.rows}
        rowKey={(row) => row.tflops}
        sort=""
        onSort={() => undefined}
      />
    );
    const op = "aten::bmm 8×64×33, 8×33×64, Half in Attention";
    const alike = { Op: op, Calls: "2" };
    expect(rowsOf(table, "Rates")).toEqual([
      {
        ...alike,
        "Why slow": "A size is odd.",
        Total: "40.0 ms",
        "TFLOP/s": "20",
        "In reach": "200",
        ...gain("36.0 ms"),
      },
      { ...alike, "Why slow": "Causal mask", Total: "10.0 ms", "TFLOP/s": "200", "In reach": "–", ...gain("–") },
    ]);
  });

  test("sorts by any figure, and what is not slow comes last", () => {
    const by = (sort: string) =>
      sorted(RATES.rows, rateColumns(RATES.rows, MEANINGS), sort).map(({ tflops }) => tflops);
    expect([by("tflops"), by("-tflops"), by("slow_gain_ns"), by("-slow_gain_ns")]).toEqual([
      [20, 200],
      [200, 20],
      [20, 200],
      [20, 200],
    ]);
  });

  test("names the best rate of the trace and the peak; its CSV holds whole figures", () => {
    expect(bestOf(RATES)).toBe(", best Half 200 of 312 TFLOP/s");
    expect(bestOf({ rows: [], best_tflops: {}, peak_tflops: {} })).toBe("");
    expect(csv(tableData(fileColumns(rateColumns(RATES.rows, MEANINGS)), RATES.rows.slice(1))).split("\r\n")[1]).toBe(
      'aten::bmm,"[[8,64,33],[8,33,64]]","[""c10::Half"",""c10::Half""]",Attention,,gemm_align1,,2,10000000,200,,',
    );
  });

  test("stands between what could use the tensor cores and the kernels, where rates are known", () => {
    const page = (device: DeviceSplit) => words(<TensorCores page={coresPage([device])} tab={tab()} compared={null} />);
    const title = "|Matrix products on tensor cores|";
    const shown = page({ ...DEVICE, rates: RATES });
    expect(shown.indexOf("|Ops that could use tensor cores|")).toBeLessThan(shown.indexOf(title));
    expect(shown.indexOf(title)).toBeLessThan(shown.indexOf("|One kernel takes half|"));
    expect(page(DEVICE).includes(title)).toBe(false);
  });
});
