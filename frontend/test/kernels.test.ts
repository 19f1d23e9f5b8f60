import { expect, test } from "vitest";
import type { KernelRow } from "../src/api.gen";
import { bare, fitted } from "../src/views/tensor_cores/kernel_name";
import { filtered } from "../src/views/tensor_cores/kernel_table";

test.each([
  ["volta_sgemm_64x64_nt", "volta_sgemm_64x64_nt"],
  [
    "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, float const*)",
    "cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>",
  ],
  [
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, " +
      "at::detail::Array<char*, 3> >(int)",
    "vectorized_elementwise_kernel<4, AddFunctor<float>, detail::Array<char*, 3>>",
  ],
  [
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(float*, int)",
    "softmax_warp_forward<float, float, float, 10, true>",
  ],
  [
    "std::enable_if<(((8)>(0)))&&(true), void>::type vllm::rms_norm_kernel<c10::Half, 8>(c10::Half*, float)",
    "vllm::rms_norm_kernel<Half, 8>",
  ],
  ["void max_pool_backward_nchw<at::Half, int>", "max_pool_backward_nchw<Half, int>"],
  ["triton poi with spaces", "triton poi with spaces"],
  ["", ""],
])("%s is shown as %s", (name, shown) => {
  expect(bare(name)).toBe(shown);
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
});

test("the filter finds what was typed in any case, and hidden bins stay hidden", () => {
  const rows = [row("volta_SGEMM", "matmul_like"), row("hmma_sgemm", "tensor_core"), row("softmax", "other")];
  const names = (typed: string, off: string[] = []) => filtered(rows, typed, new Set(off)).map(({ name }) => name);
  expect(names("sgemm ")).toEqual(["volta_SGEMM", "hmma_sgemm"]);
  expect(names("sgemm", ["matmul_like"])).toEqual(["hmma_sgemm"]);
  expect(names("foo")).toEqual([]);
  expect(names("")).toHaveLength(3);
});
