/** Columns of the roofline's table: labels and meanings from the catalogue. */

import type { RooflineDot } from "../../api.gen";
import type { TableData } from "../../components/data_table";
import type { Column } from "../../components/table";
import { DASH, percent } from "../../format";
import { columnHead, type Meanings } from "../../meanings";

export const keyOf = (dot: RooflineDot): string => `${dot.op} ${dot.shapes} ${dot.dtype} ${dot.kernel}`;

export const intensity = (dot: RooflineDot): number => dot.flops / dot.bytes;

/** FLOP/ns are thousandths of TFLOP/s. */
export const tflops = (dot: RooflineDot): number => (dot.flops * dot.calls) / dot.total_ns / 1000;

/** Bytes/ns are GB/s. */
const bandwidth = (dot: RooflineDot): number | null =>
  dot.total_ns ? (1e9 * dot.bytes * dot.calls) / dot.total_ns : null;

const TYPES: Readonly<Record<string, string>> = {
  "c10::BFloat16": "BF16",
  "c10::Half": "FP16",
  float: "FP32",
  double: "FP64",
};

export const typeOf = (dtype: string): string => TYPES[dtype] ?? (dtype.startsWith("c10::Float8") ? "FP8" : dtype);

/** "96×3137×64, 96×64×3137" */
export function inputsOf({ shapes }: RooflineDot): string {
  const given: unknown = JSON.parse(shapes || "[]");
  const tensors = (Array.isArray(given) ? given : []).filter((shape) => Array.isArray(shape) && shape.length > 0);
  return [...new Set(tensors.map((shape) => shape.join("×")))].slice(0, 3).join(", ");
}

export function columnsOf(dots: readonly RooflineDot[], meanings: Meanings): Column<RooflineDot>[] {
  const about = (id: string) => ({ id, ...columnHead(meanings, id) });
  const known = dots.some((dot) => dot.efficiency !== null);
  return [
    {
      id: "op",
      label: "Op",
      width: "170px",
      order: (dot) => dot.op,
      cell: (dot) => <span data-hint={dot.op}>{dot.op}</span>,
    },
    {
      id: "inputs",
      label: "Inputs",
      order: inputsOf,
      cell: (dot) => (
        <span data-hint={`${typeOf(dot.dtype)} ${dot.shapes}\n${dot.kernel}`}>
          {typeOf(dot.dtype)} {inputsOf(dot)}
        </span>
      ),
    },
    {
      ...about("roofline_calls"),
      width: "60px",
      figures: { of: (dot) => dot.calls, unit: "count", adds: "recording" },
    },
    {
      ...about("roofline_total"),
      width: "84px",
      figures: { of: (dot) => dot.total_ns, unit: "ns", adds: "recording" },
    },
    { ...about("flop_per_byte"), width: "84px", figures: { of: intensity, unit: "number" } },
    {
      ...about("roofline_tflops"),
      width: "76px",
      figures: { of: (dot) => (dot.total_ns ? tflops(dot) : null), unit: "number" },
    },
    { ...about("least_bandwidth"), width: "116px", figures: { of: bandwidth, unit: "bytes_per_second" } },
    ...(known
      ? [
          {
            ...about("roof_efficiency"),
            width: "92px",
            figures: { of: (dot: RooflineDot) => dot.efficiency, unit: "fraction" as const },
            cell: (dot: RooflineDot) => <Efficiency dot={dot} meanings={meanings} />,
          },
          {
            ...about("roofline_bound"),
            width: "132px",
            order: (dot: RooflineDot) => dot.bound,
            cell: (dot: RooflineDot) => <Bound dot={dot} meanings={meanings} />,
          },
          {
            ...about("roofline_gain"),
            width: "92px",
            figures: {
              of: (dot: RooflineDot) => (dot.efficiency === null ? null : dot.gain_ns),
              unit: "ns" as const,
              adds: "recording" as const,
            },
          },
        ]
      : []),
  ];
}

function Efficiency({ dot, meanings }: { dot: RooflineDot; meanings: Meanings }) {
  if (dot.above === null) return <>{percent(dot.efficiency)}</>;
  const { label, meaning } = meanings.metric(`above_${dot.above}`);
  return <span data-hint={`${label}. ${meaning}`}>{percent(dot.efficiency)} *</span>;
}

function Bound({ dot, meanings }: { dot: RooflineDot; meanings: Meanings }) {
  if (dot.bound === null) return <>{DASH}</>;
  const { label, meaning } = meanings.metric(`bound_${dot.bound}`);
  return <span data-hint={meaning}>{label}</span>;
}

export const csvOf = (dots: readonly RooflineDot[], meanings: Meanings): TableData => ({
  columns: [
    { label: "Op" },
    { label: "Inputs" },
    { label: "Type" },
    { label: "Kernel" },
    { label: meanings.metric("roofline_calls").label, unit: "count" },
    { label: meanings.metric("roofline_total").label, unit: "ns" },
    { label: meanings.metric("flop_per_byte").label, unit: "number" },
    { label: meanings.metric("roofline_tflops").label, unit: "number" },
    { label: meanings.metric("least_bandwidth").label, unit: "bytes_per_second" },
    { label: meanings.metric("roof_efficiency").label, unit: "fraction" },
    { label: meanings.metric("roofline_bound").label },
    { label: meanings.metric("roofline_gain").label, unit: "ns" },
  ],
  rows: dots.map((dot) => [
    dot.op,
    dot.shapes,
    typeOf(dot.dtype),
    dot.kernel,
    dot.calls,
    dot.total_ns,
    intensity(dot),
    dot.total_ns ? tflops(dot) : null,
    bandwidth(dot),
    dot.efficiency,
    dot.bound === null ? null : meanings.metric(`bound_${dot.bound}`).label,
    dot.efficiency === null ? null : dot.gain_ns,
  ]),
});
