/** Columns of the roofline's table: labels and meanings from the catalogue. */

import type { RooflineDot } from "../../api.gen";
import { type Column, fileFields } from "../../components/table";
import { DASH, percent } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { figuresOf } from "../table_picture";

export const keyOf = (dot: RooflineDot): string => `${dot.op} ${dot.shapes} ${dot.dtype} ${dot.kernel}`;

export const intensity = (dot: RooflineDot): number => dot.flops / dot.bytes;

/** One FLOP/ns is a thousandth of a TFLOP/s. */
export const tflops = (dot: RooflineDot): number => (dot.flops * dot.calls) / dot.total_ns / 1000;

/** Bytes per second, from bytes per ns. */
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
  const figure = (id: string, width: number, of: (dot: RooflineDot) => number | null, how = {}) =>
    figuresOf<RooflineDot>(meanings)(id, id, width, of, how);
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
      file: [
        ...fileFields<RooflineDot>({ shapes: "Inputs" }),
        { label: "Type", of: (dot) => typeOf(dot.dtype) },
        ...fileFields<RooflineDot>({ kernel: "Kernel" }),
      ],
    },
    figure("roofline_calls", 60, (dot) => dot.calls, { adds: "recording" }),
    figure("roofline_total", 84, (dot) => dot.total_ns, { adds: "recording" }),
    figure("flop_per_byte", 84, intensity),
    figure("roofline_tflops", 76, (dot) => (dot.total_ns ? tflops(dot) : null)),
    figure("least_bandwidth", 116, bandwidth),
    ...(known ? efficiencyColumns(meanings) : []),
  ];
}

function efficiencyColumns(meanings: Meanings): Column<RooflineDot>[] {
  const figure = figuresOf<RooflineDot>(meanings);
  return [
    {
      ...figure("roof_efficiency", "roof_efficiency", 92, (dot) => dot.efficiency),
      cell: (dot) => <Efficiency dot={dot} meanings={meanings} />,
    },
    {
      id: "roofline_bound",
      ...columnHead(meanings, "roofline_bound"),
      width: "132px",
      order: (dot) => dot.bound,
      cell: (dot) => <Bound dot={dot} meanings={meanings} />,
      file: [
        {
          label: meanings.metric("roofline_bound").label,
          of: ({ bound }) => (bound === null ? null : meanings.metric(`bound_${bound}`).label),
        },
      ],
    },
    figure("roofline_gain", "roofline_gain", 92, (dot) => (dot.efficiency === null ? null : dot.gain_ns), {
      adds: "recording",
    }),
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
