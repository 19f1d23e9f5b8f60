/** How far ops are from what the GPU can do: the roofline, and apart from it a table of its dots. */

import { sum } from "d3-array";
import { useMemo } from "preact/hooks";
import type { Phrase, Roofline, RooflineDot } from "../../api.gen";
import { tableData } from "../../components/data_table";
import { Keys, type SeriesKey, useHidden } from "../../components/keys";
import { NoPicture, Picture } from "../../components/picture";
import { type Column, fileColumns, fileFields } from "../../components/table";
import { counted, DASH, ns, percent, text } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { totalsOf } from "../choices";
import type { ViewPart } from "../props";
import { figuresOf, nameColumn, TablePicture } from "../table_picture";
import { DotSample, type DotShape, type RooflineMark, RooflinePlot } from "./charts/roofline";
import type { FlatRoof } from "./charts/roofline_layout";

interface RooflineProps extends ViewPart {
  roofline: Roofline;
  kernelNs: number;
  title: Phrase;
  opened: string | null;
  open(kernel: string): void;
}

const DETAILS =
  "A dot is an op on inputs of one size, its area the time. Bytes are the least that the op must move: a dot may " +
  "stand further from the roof than it is.";

const NO_DOTS =
  "No op of this GPU has recorded inputs whose operations and bytes are known. record_shapes=True records them.";

/** How each bound is drawn. */
const LOOKS: Readonly<Record<string, { shape: DotShape; colour: string }>> = {
  compute: { shape: "square", colour: "tensor" },
  memory: { shape: "circle", colour: "kernel" },
  launch: { shape: "triangle", colour: "runtime" },
  grid: { shape: "diamond", colour: "data" },
};
const UNKNOWN = { shape: "circle", colour: "other" } as const;

export function GpuRoofline({ roofline, kernelNs, title, tab, name, opened, open }: RooflineProps) {
  const { meanings } = tab;
  const [off, hide] = useHidden();
  const drawn = useMemo(() => roofline.dots.filter((dot) => dot.flops > 0 && dot.total_ns > 0), [roofline]);
  const points = useMemo(() => drawn.map((dot) => markOf(dot, meanings)), [drawn, meanings]);
  const roofs = useMemo(() => roofsOf(roofline.roofs), [roofline]);
  const hidden = drawn.filter((dot) => off.has(groupOf(dot)));
  const chosen = roofline.dots.find((dot) => dot.kernel === opened);
  const choose = (key: string | null) => {
    const dot = roofline.dots.find((each) => keyOf(each) === key);
    if (dot) open(dot.kernel);
  };
  if (roofline.dots.length === 0) return <NoPicture title={title} why={NO_DOTS} />;
  // Without a limit the dots say nothing: they are in the table.
  const limited = drawn.length > 0 && (roofs.length > 0 || roofline.memory_gbs !== null);
  return (
    <Picture
      title={title}
      drawn={limited}
      details={[
        DETAILS,
        roofline.memory_gbs === null && sentence(meanings.explain({ code: "peaks_not_known", values: {} })),
        onlyInTable(roofline.dots.length - drawn.length),
        restOf(roofline, kernelNs),
      ]
        .filter(Boolean)
        .join(" ")}
      name={`roofline ${name}`}
      table={() => tableData(fileColumns(columnsOf(roofline.dots, tab.meanings)), roofline.dots)}
    >
      {limited && (
        <RooflinePlot
          label={`${sentence(title)}. ${counted(drawn.length, "op")} by FLOP per byte and TFLOP per second.`}
          points={points}
          off={off}
          roofs={roofs}
          memory_gbs={roofline.memory_gbs}
          chosen={chosen ? keyOf(chosen) : null}
          choose={choose}
        />
      )}
      {limited && <Keys label="What bounds the ops" keys={keysOf(drawn, meanings)} off={off} choose={hide} />}
      {hidden.length > 0 && <p class="quiet small aside">{hiddenOf(hidden, kernelNs)}</p>}
    </Picture>
  );
}

/** The dots in rows, with the ops that have no dot. */
export function RooflineTable({
  roofline: { dots },
  tab,
  name,
  opened,
  open,
}: Omit<RooflineProps, "kernelNs" | "title">) {
  const chosen = dots.find((dot) => dot.kernel === opened);
  return (
    <TablePicture
      title="Ops by distance from the roof"
      sub={totalsOf(tab)}
      name={`roofline ops ${name}`}
      label="Ops by distance from the roof"
      columns={columnsOf(dots, tab.meanings)}
      rows={dots}
      rowKey={keyOf}
      order="roofline"
      maxRows={10}
      onChoose={(dot) => open(dot.kernel)}
      chosen={chosen && keyOf(chosen)}
      tab={tab}
    />
  );
}

const UNBOUND = "unknown";

const groupOf = ({ bound }: RooflineDot): string => bound ?? UNBOUND;

/** The legend entries of the bounds that occur. */
function keysOf(dots: readonly RooflineDot[], meanings: Meanings): SeriesKey[] {
  const groups = new Set(dots.map(groupOf));
  const bounds = Object.keys(LOOKS).filter((bound) => groups.has(bound));
  const keys = bounds.map((bound) => {
    const { label, meaning } = meanings.metric(`bound_${bound}`);
    return { id: bound, label, meaning, mark: <DotSample {...LOOKS[bound]!} /> };
  });
  return groups.has(UNBOUND) ? [...keys, { id: UNBOUND, label: "not known", mark: <DotSample {...UNKNOWN} /> }] : keys;
}

function hiddenOf(dots: readonly RooflineDot[], kernelNs: number): string {
  if (dots.length === 0) return "";
  const hiddenNs = sum(dots, (dot) => dot.total_ns);
  return `${counted(dots.length, "op")} with ${percent(hiddenNs / kernelNs)} of kernel time are hidden.`;
}

/** An op without arithmetic has no place among the dots. */
const onlyInTable = (moving: number): string =>
  moving > 0 ? `${counted(moving, "op")} that only move data stand in the table alone.` : "";

/** A text about what the picture leaves out. */
function restOf({ more_dots, more_ns, unknown_ns }: Roofline, kernelNs: number): string {
  return [
    more_dots > 0
      ? `${counted(more_dots, "smaller one")} with ${percent(more_ns / kernelNs)} of kernel time are left out.`
      : "",
    unknown_ns > 0
      ? `FLOP or bytes of ${percent(unknown_ns / kernelNs)} of kernel time are not known, communication aside.`
      : "",
  ]
    .filter((each) => each !== "")
    .join(" ");
}

/** Types with the same peak share a roof. */
function roofsOf(roofs: Roofline["roofs"]): FlatRoof[] {
  const peaks = [...new Set(roofs.map((roof) => roof.tflops))];
  return peaks.map((tflops) => {
    const types = roofs.filter((roof) => roof.tflops === tflops).map(roofType);
    return { name: `${types.join(", ")} ${text(tflops, "number")} TFLOP/s`, tflops };
  });
}

/** Fused attention multiplies FP32 inputs in three TF32 products. */
const roofType = ({ dtype, products }: Roofline["roofs"][number]): string =>
  dtype !== "float" || products === 0 ? typeOf(dtype) : products === 1 ? "TF32" : `${products} × TF32`;

function markOf(dot: RooflineDot, meanings: Meanings): RooflineMark {
  const above =
    dot.above === null ? [] : [{ name: meanings.metric(`above_${dot.above}`).label, value: "above its roof" }];
  return {
    key: keyOf(dot),
    x: intensity(dot),
    y: tflops(dot),
    area: dot.total_ns,
    group: groupOf(dot),
    ...(dot.bound === null ? UNKNOWN : LOOKS[dot.bound]!),
    tip: {
      title: `${dot.op} ${inputsOf(dot)}`,
      rows: [
        { name: "Kernel", value: dot.short },
        { name: "Time", value: `${ns(dot.total_ns)} in ${counted(dot.calls, "call")}` },
        { name: "TFLOP/s", value: text(tflops(dot), "number") },
        { name: "FLOP/byte", value: text(intensity(dot), "number") },
        { name: "Of its roof", value: percent(dot.efficiency) },
        { name: "Bound", value: dot.bound === null ? "not known" : meanings.metric(`bound_${dot.bound}`).label },
        ...above,
      ],
      act: "Click to open the kernel",
    },
  };
}

const keyOf = (dot: RooflineDot): string => `${dot.op} ${dot.shapes} ${dot.dtype} ${dot.kernel}`;

const intensity = (dot: RooflineDot): number => dot.flops / dot.bytes;

/** One FLOP/ns is a thousandth of a TFLOP/s. */
const tflops = (dot: RooflineDot): number => (dot.flops * dot.calls) / dot.total_ns / 1000;

/** Bytes per second, from bytes per ns. */
const bandwidth = (dot: RooflineDot): number | null =>
  dot.total_ns ? (1e9 * dot.bytes * dot.calls) / dot.total_ns : null;

const TYPES: Readonly<Record<string, string>> = {
  "c10::BFloat16": "BF16",
  "c10::Half": "FP16",
  float: "FP32",
  double: "FP64",
};

const typeOf = (dtype: string): string => TYPES[dtype] ?? (dtype.startsWith("c10::Float8") ? "FP8" : dtype);

/** "96×3137×64, 96×64×3137" */
function inputsOf({ shapes }: RooflineDot): string {
  const parsed: unknown = JSON.parse(shapes || "[]");
  const tensors = (Array.isArray(parsed) ? parsed : []).filter((shape) => Array.isArray(shape) && shape.length > 0);
  return [...new Set(tensors.map((shape) => shape.join("×")))].slice(0, 3).join(", ");
}

function columnsOf(dots: readonly RooflineDot[], meanings: Meanings): Column<RooflineDot>[] {
  const figure = (id: string, width: number, of: (dot: RooflineDot) => number | null, how = {}) =>
    figuresOf<RooflineDot>(meanings)(id, id, width, of, how);
  const hasEfficiency = dots.some((dot) => dot.efficiency !== null);
  return [
    nameColumn("op", "Op", (dot) => dot.op, { width: "170px" }),
    {
      id: "inputs",
      label: "Inputs",
      order: inputsOf,
      cell: (dot) => `${typeOf(dot.dtype)} ${inputsOf(dot)}`,
      hint: (dot) => `${typeOf(dot.dtype)} ${dot.shapes}\n${dot.kernel}`,
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
    ...(hasEfficiency ? efficiencyColumns(meanings) : []),
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
