/** Tensor Cores: the split of kernel time, what could move, rates of products, and the table of kernels. */

import { describe, expect, test } from "vitest";
import type { Address } from "../src/address/keys";
import type { DeviceSplit, KernelRow, Opportunity, ProductRates } from "../src/api.gen";
import { csv, tableData } from "../src/components/data_table";
import { quoted } from "../src/components/filter";
import { fileColumns, sorted, Table } from "../src/components/table";
import { sorting } from "../src/views/choices";
import { binsOf, shownBins } from "../src/views/tensor_cores/bins";
import { fitted, shortOf } from "../src/views/tensor_cores/kernel_name";
import {
  filtered,
  GROUPINGS,
  groupingOf,
  matching,
  splitColumns,
  splitFoot,
  splitRows,
} from "../src/views/tensor_cores/kernel_table";
import {
  gainOf,
  holding,
  inputsOf,
  leftOf,
  opportunityColumns,
  opportunityFoot,
} from "../src/views/tensor_cores/opportunity_table";
import { bestOf, rateColumns } from "../src/views/tensor_cores/rate_table";
import { TensorCores } from "../src/views/tensor_cores/tensor_cores";
import { coresPage, DEVICE, rate, split, tab } from "./fixtures/figures";
import { MEANINGS } from "./fixtures/meanings";
import { because } from "./fixtures/pages";
import { htmlOf, rowsOf, words } from "./fixtures/words";

const MS = 1_000_000;

const formula = { code: "gain_by_peaks", values: { time: { value: 1, unit: "ns" as const } } };
const could = (kernel: string, total: number, gain: number, more: Partial<Opportunity> = {}): Opportunity => ({
  op: "aten::mm",
  shapes: null,
  dtypes: null,
  kernel,
  short: "",
  why_not: "tf32_off",
  why: because("tf32_off"),
  setting: null,
  count: 2,
  total_ns: total * MS,
  gain_ns: gain * MS,
  formula,
  ...more,
});
const ROWS = [
  could("small", 10, 9),
  could("bound", 40, 5),
  could("large", 30, 20, {
    op: "aten::bmm",
    shapes: "[[8,64,32],[8,32,16]]",
    dtypes: '["c10::Half","c10::Half"]',
    why_not: "alignment",
    why: because("misaligned_kernel"),
  }),
  could("strange", 50, 0, { op: null, formula: because("no_gain_computed") }),
];
const FOLDED: DeviceSplit = {
  ...DEVICE,
  opportunities: ROWS,
  opportunities_more_count: 7,
  opportunities_more_ns: 3 * MS,
  opportunities_more_gain_ns: 1 * MS,
};
const by = (sort: string) => sorted(ROWS, opportunityColumns(ROWS, 1000, MEANINGS), sort).map(({ kernel }) => kernel);

describe("what could use the tensor cores", () => {
  test("is sorted by gain, and what nobody can compute comes last either way", () => {
    expect(by("-gain")).toEqual(["large", "small", "bound", "strange"]);
    expect(by("gain")).toEqual(["bound", "small", "large", "strange"]);
    expect(by("-total")).toEqual(["strange", "bound", "large", "small"]);
    expect(ROWS.map(gainOf)).toEqual([9 * MS, 5 * MS, 20 * MS, null]);
  });

  test("a row says op, inputs, kernel, why not with the setting, and its gain with the formula", () => {
    const table = (
      <Table
        label=""
        columns={opportunityColumns(DEVICE.opportunities, 1000, MEANINGS)}
        rows={DEVICE.opportunities}
        rowKey={() => 0}
        sort="-gain"
        onSort={() => undefined}
      />
    );
    expect(words(table)).toContain(
      "|aten::mm| 128×64, 64×32, float|gemm f32 64x64|Copy|FP32 inputs, which the tensor cores " +
        "of this GPU do not take.|4|40.0 ms|35.0 ms|",
    );
    const html = htmlOf(table);
    expect(html).toContain('data-hint="40.0 ms x (1 - 15.7 / 125)."');
    expect(html).toContain('data-hint="FP32 inputs, which the tensor cores of this GPU do not take.\ntorch.autocast"');
    expect(html).toContain('class="kernel-name" data-hint="volta_sgemm_64x64"');
    expect(html).toContain('data-hint="aten::mm\n[[128,64],[64,32]]\n[&quot;float&quot;,&quot;float&quot;]"');
  });

  test("a filter looks into op, inputs, kernel and reason", () => {
    const kernels = (typed: string) => holding(ROWS, typed, MEANINGS).map(({ kernel }) => kernel);
    expect([kernels("BMM"), kernels("half"), kernels("tf32 is"), kernels("bound"), kernels("nothing")]).toEqual([
      ["large"],
      ["large"],
      ["small", "bound", "strange"],
      ["bound"],
      [],
    ]);
    expect(kernels(" ")).toHaveLength(4);
  });

  test("the last row holds what is folded and what is filtered away", () => {
    expect(leftOf(FOLDED, ROWS)).toEqual({ count: 7, ns: 3 * MS, gain_ns: 1 * MS });
    expect(leftOf(FOLDED, holding(ROWS, "bmm", MEANINGS))).toEqual({ count: 13, ns: 103 * MS, gain_ns: 15 * MS });
    expect(opportunityFoot(leftOf(FOLDED, ROWS))).toEqual({
      name: "7\u00a0more launches",
      cells: { total: 3 * MS, gain: 1 * MS },
    });
  });

  test("its CSV holds whole figures and sentences", () => {
    expect(csv(tableData(fileColumns(opportunityColumns(ROWS, 1_000, MEANINGS)), [ROWS[3]!]))).toBe(
      'Op,Shapes,Types,Kernel,Why not,Setting,Launches (count),Total (ns),"Gain, up to ' +
        '(ns)",Formula\r\n,,,strange,"FP32 inputs, and TF32 is off.",,2,50000000,,No gain is ' +
        "computed.\r\n",
    );
  });

  test("stands above the kernels, and not at all where the headline says that nothing could move there", () => {
    const page = (device: DeviceSplit) => words(<TensorCores page={coresPage([device])} tab={tab()} compared={null} />);
    const title = "|Ops that could use tensor cores|";
    expect(page(DEVICE).indexOf(title)).toBeGreaterThan(0);
    expect(page(DEVICE).indexOf(title)).toBeLessThan(page(DEVICE).indexOf("|One kernel takes half|"));
    expect(page({ ...DEVICE, opportunities: [] })).not.toContain(title);
    expect(page({ ...DEVICE, share_low: null, share_high: null })).not.toContain(title);
  });
});

test.each([
  ["[[1024,512],[512,256]]", '["float","float"]', "1024×512, 512×256, float"],
  ["[[32,64],[],[64]]", '["c10::Half","Scalar","c10::BFloat16"]', "32×64, 64, Half, BFloat16"],
  ["[[[2,3],[4,3]],[]]", '["TensorList","Scalar"]', "[2×3, 4×3]"],
  ["[[1,2", null, ""],
  [null, null, ""],
])("inputs %s of %s are written %s", (shapes, dtypes, written) => {
  expect(inputsOf(shapes, dtypes)).toBe(written);
});

const SPLIT: DeviceSplit = {
  ...DEVICE,
  total: split(60, 30, 0, 10),
  ops: [
    { op: "aten::mm", no_op: null, count: 5, split: split(60, 20, 0, 0) },
    { op: null, no_op: "no launch in this trace", count: 3, split: split(0, 10, 0, 0) },
    { op: "aten::add", no_op: null, count: 2, split: split(0, 0, 0, 10) },
  ],
  phases: [
    { phase: "forward", count: 7, split: split(60, 20, 0, 10) },
    { phase: "unknown", count: 3, split: split(0, 10, 0, 0) },
  ],
};

const PHASES = { forward: "Forward", unknown: "Launch not recorded" };

describe("kernel time by kernel, op and phase", () => {
  const named = (rows: readonly { name: string }[]) => rows.map(({ name }) => name);
  const of = (total: string) => ({ Total: `${total} ms`, Share: `${total} %` });
  const drawn = (id: "op" | "phase", typed = "", off: string[] = []) => {
    const [grouping, all, bins] = [groupingOf(id), splitRows(SPLIT, id, PHASES), shownBins(MEANINGS, new Set(off))];
    const rows = matching(all, typed, bins, 4);
    return (
      <Table
        label={id}
        columns={splitColumns(grouping, all, bins, SPLIT.total, MEANINGS)}
        rows={rows}
        rowKey={({ name }) => name}
        sort="-total"
        onSort={() => {}}
        choice={sorting(tab(), "sort").choice}
        foot={rows.length < all.length && splitFoot({ grouping, all, rows, bins, total: SPLIT.total })}
      />
    );
  };

  test("the switch is in the address, and what it does not know is by kernel", () => {
    expect([undefined, "op", "phase", "module"].map((id) => groupingOf(id).id)).toEqual([
      "name",
      "op",
      "phase",
      "name",
    ]);
    const page = (state: Address) => words(<TensorCores page={coresPage([SPLIT])} tab={tab(state)} compared={null} />);
    expect(page({})).toContain("|One kernel takes half|a step|Kernel|Op|Phase|");
    expect(page({ by: "op" })).toContain("|Which ops run on tensor cores?|a step|Kernel|Op|Phase|");
    expect(page({ by: "phase" })).toContain("|Which phases run on tensor cores?|");
    expect(GROUPINGS.map(({ label }) => label)).toEqual(["Kernel", "Op", "Phase"]);
  });

  test("ops and phases show the four times, their sum and its share", () => {
    const none = { "Tensor cores": "0 ms", "Matmul-like": "0 ms", Unknown: "0 ms", Other: "0 ms" };
    expect(rowsOf(drawn("op"), "op")).toEqual([
      { ...none, Op: "aten::mm", Launches: "5", "Tensor cores": "60.0 ms", "Matmul-like": "20.0 ms", ...of("80.0") },
      { ...none, Op: "no launch in this trace", Launches: "3", "Matmul-like": "10.0 ms", ...of("10.0") },
      { ...none, Op: "aten::add", Launches: "2", Other: "10.0 ms", ...of("10.0") },
    ]);
    expect(rowsOf(drawn("phase"), "phase").map((row) => [row.Phase, row.Launches, row.Total])).toEqual([
      ["Forward", "7", "90.0 ms"],
      ["Launch not recorded", "3", "10.0 ms"],
    ]);
  });

  test("what a filter leaves out stands in the last row", () => {
    expect(rowsOf(drawn("op", "MM"), "op").map((row) => [row.Op, row.Launches, row.Other, row.Total])).toEqual([
      ["aten::mm", "5", "0 ms", "80.0 ms"],
      ["2 more ops", "5", "10.0 ms", "20.0 ms"],
    ]);
  });

  test("a name in quotes, which the GPU view leaves in the shared filter, is found here too", () => {
    const all = splitRows(SPLIT, "op", PHASES);
    expect(named(matching(all, quoted("aten::mm"), shownBins(MEANINGS, new Set()), 4))).toEqual(["aten::mm"]);
  });

  test("a hidden part leaves its column, its time and the rows that have nothing else", () => {
    expect(named(matching(splitRows(SPLIT, "op", PHASES), "", shownBins(MEANINGS, new Set(["other"])), 4))).toEqual([
      "aten::mm",
      "no launch in this trace",
    ]);
    const [forward] = rowsOf(drawn("phase", "", ["other"]), "phase");
    expect(Object.keys(forward!)).toEqual([
      "Phase",
      "Launches",
      "Tensor cores",
      "Matmul-like",
      "Unknown",
      "Total",
      "Share",
    ]);
    expect(forward).toMatchObject(of("80.0"));
  });

  test("rows of either grouping sum to the device", () => {
    for (const id of ["op", "phase"] as const) {
      const rows = splitRows(SPLIT, id, PHASES);
      for (const bin of binsOf(MEANINGS))
        expect(rows.reduce((sum, row) => sum + bin.of(row.split), 0)).toBe(bin.of(SPLIT.total));
      expect(
        tableData(fileColumns(splitColumns(groupingOf(id), rows, [], SPLIT.total, MEANINGS)), rows).rows.reduce(
          (sum, row) => sum + Number(row[7]),
          0,
        ),
      ).toBeCloseTo(1, 9);
    }
  });
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

  test("names the rate that products are compared with and the peak; its CSV holds whole figures", () => {
    expect(bestOf(RATES)).toBe("; compared with Half 200 (peak 312) TFLOP/s");
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

test("a row shows the short name, and one of an earlier release's summary the whole", () => {
  expect(shortOf({ short: "gemm f32 64x64", name: "volta_sgemm_64x64_nt" })).toBe("gemm f32 64x64");
  expect(shortOf({ short: "", name: "volta_sgemm_64x64_nt" })).toBe("volta_sgemm_64x64_nt");
});

test("a name that is too long is cut in the middle, and one that fits is whole", () => {
  const name = "cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>";
  expect(fitted(name, 600)).toBe(name);
  const cut = fitted(name, 200);
  expect(cut).toMatch(/^cudnn::detail::.*….*false>$/);
  expect(cut.length).toBeLessThan(36);
  expect(fitted(name, 0)).toBe("…");
});

const row = (name: string, bin: KernelRow["bin"]): KernelRow => ({
  name,
  bin,
  reason: "",
  count: 1,
  total_ns: 1,
  share: 0,
  short: `${name} in short`,
});

test("the filter finds what was typed in any case, and hidden bins stay hidden", () => {
  const rows = [row("volta_SGEMM", "matmul_like"), row("hmma_sgemm", "tensor_core"), row("softmax", "other")];
  const names = (typed: string, off: string[] = []) => filtered(rows, typed, new Set(off)).map(({ name }) => name);
  expect(names("sgemm ")).toEqual(["volta_SGEMM", "hmma_sgemm"]);
  expect(names("sgemm", ["matmul_like"])).toEqual(["hmma_sgemm"]);
  expect(names("softmax in short")).toEqual(["softmax"]);
  expect(names("foo")).toEqual([]);
  expect(names("")).toHaveLength(3);
});
