import { expect, test } from "vitest";
import type { KernelRow } from "../src/api.gen";
import { fitted, shortOf } from "../src/views/tensor_cores/kernel_name";
import { filtered } from "../src/views/tensor_cores/kernel_table";

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
