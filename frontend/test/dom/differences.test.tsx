/** Next to another span, the tables of Tensor cores show how much more time per step each row takes. */

import { render, screen, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { DeviceSplit, Opportunity, ProductRate } from "../../src/api.gen";
import { TensorCores } from "../../src/views/tensor_cores/tensor_cores";
import { coresPage, DEVICE, tab } from "../fixtures/figures";

const MS = 1e6;
const OPPORTUNITY = DEVICE.opportunities[0]!;
const SITE = { kernel: "gemm", op: "aten::bmm", shapes: "[[8,64]]", dtypes: "half", module: null };
const product = (ms: number): ProductRate => ({
  site: { ...SITE, source: null, backward: false, longest: null },
  dtype: "c10::Half",
  count: 2,
  total_ns: ms * MS,
  tflops: 20,
  attainable_tflops: 200,
  causal: null,
  slow: null,
  why: null,
  gain_ns: 0,
});
const could = (ms: number): Opportunity => ({ ...OPPORTUNITY, total_ns: ms * MS });

const device = (steps: number, ms: number): DeviceSplit => ({
  ...DEVICE,
  steps: Array.from({ length: steps }, () => DEVICE.steps[0]!),
  opportunities: [could(ms)],
  rates: { rows: [product(ms)], best_tflops: {}, peak_tflops: {} },
});

test("40 ms of one step are 30 ms more than 20 ms of two", () => {
  const compared = { name: "b", own: "a", page: coresPage([device(2, 20)]) };
  render(<TensorCores page={coresPage([device(1, 40)])} tab={tab()} compared={compared} />);
  for (const label of ["Rates", "Opportunities"]) {
    const table = within(screen.getByRole("grid", { name: label }));
    expect(table.getByRole("columnheader", { name: /vs b/ })).toBeTruthy();
    expect(table.getByText("+30.0 ms")).toBeTruthy();
  }
});
