/** The four bins of kernel time: how the server names them, and what they look like. */

import type { Split } from "../../api.gen";

export interface Bin {
  /** KernelRow.bin. */
  id: string;
  label: string;
  /** In a table cell, and over a column. */
  short: string;
  head: string;
  colour: string;
  hatched: boolean;
  of(split: Split): number;
  meaning: string;
}

/** In the order of the bar. */
export const BINS: readonly Bin[] = [
  {
    id: "tensor_core",
    label: "Tensor cores",
    short: "yes",
    head: "Tensor cores",
    colour: "tensor",
    hatched: false,
    of: (split) => split.tensor_core_ns,
    meaning: "Kernels that run on tensor cores (AMD: matrix cores).",
  },
  {
    id: "matmul_like",
    label: "Matmul-like, no tensor cores",
    short: "no",
    head: "Matmul-like",
    colour: "kernel",
    hatched: true,
    of: (split) => split.matmul_like_ns,
    meaning: "Matrix products, convolutions and attention on the plain cores. This time could move to tensor cores.",
  },
  {
    id: "unknown",
    label: "Unknown",
    short: "unknown",
    head: "Unknown",
    colour: "other",
    hatched: true,
    of: (split) => split.unknown_ns,
    meaning: "Kernels whose names do not tell whether they use tensor cores.",
  },
  {
    id: "other",
    label: "Other kernels",
    short: "not eligible",
    head: "Other",
    colour: "kernel",
    hatched: false,
    of: (split) => split.other_ns,
    meaning: "Kernels that tensor cores are not made for: elementwise, reductions, normalization, copies.",
  },
];

export const binOf = (id: string): Bin => BINS.find((bin) => bin.id === id) ?? BINS[BINS.length - 1]!;
