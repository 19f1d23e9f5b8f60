/** What could move to the tensor cores: which rows are shown, and the sum of those that are not. */

import { sum } from "d3-array";
import { useMemo } from "preact/hooks";
import type { DeviceSplit, Opportunity } from "../../api.gen";
import { Filter, matchingRows, Unmatched } from "../../components/filter";
import { type Column, type Foot, fileFields } from "../../components/table";
import { counted, DASH } from "../../format";
import { largestOf } from "../../lists";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { namedByOp, totalsOf } from "../choices";
import { DIFFERENCE_PX, differences } from "../compare/compared_columns";
import type { ViewPart } from "../props";
import { figuresOf, TablePicture, timesOf } from "../table_picture";
import { binOf, matrixUnits } from "./bins";
import { fitted, KernelName, shortOf } from "./kernel_name";
import type { OtherSplit } from "./split";

interface OpportunityTableProps extends ViewPart {
  device: DeviceSplit;
  other: OtherSplit | null;
}

/** For each op the time that could move to the tensor cores, why it does not, and what that costs at most. */
export function OpportunityTable({ device, other, tab, name }: OpportunityTableProps) {
  const typed = tab.state.could ?? "";
  const change = (could: string | null) => tab.update({ could });
  const all = device.opportunities;
  const rows = useMemo(() => holding(all, typed, tab.meanings), [all, typed, tab.meanings]);
  const left = leftOf(device, rows);
  if (all.length === 0) return null; // the headline says that none of the rest could run there
  return (
    <TablePicture
      title={`Ops that could use ${matrixUnits(tab.meanings)}`}
      sub={totalsOf(tab)}
      name={`tensor core opportunities ${name}`}
      tools={
        <Filter
          label="Filter by op, shapes, kernel or reason"
          placeholder="Filter"
          typed={typed}
          change={change}
          shown={rows.length}
          all={all.length}
          folded={leftOf(device, all).count}
        />
      }
      label="Opportunities"
      columns={(width) => [
        ...opportunityColumns(all, other ? width - DIFFERENCE_PX : width, tab.meanings),
        ...difference(device, other),
      ]}
      rows={rows}
      rowKey={keyOf}
      mark={["could", ({ op, shapes }) => namedByOp(op, shapes)]}
      maxRows={8}
      order={["could_sort", "-gain"]}
      tab={tab}
      empty={<Unmatched typed={typed} change={change} />}
      foot={left.count > 0 && opportunityFoot(left)}
    />
  );
}

/** Matches by inputs and kernel: the same op in both spans. */
const difference = (device: DeviceSplit, other: OtherSplit | null) =>
  differences(other, other?.device.opportunities, {
    rows: device.opportunities,
    keyOf: ({ op, shapes, dtypes, kernel }) => [op, shapes, dtypes, kernel].join("\n"),
    ns: (row) => row.total_ns,
    steps: [device.steps.length, other?.device.steps.length ?? 1],
  });

const keyOf = (row: Opportunity): string =>
  [row.op, row.shapes, row.dtypes, row.kernel, row.why_not, JSON.stringify([row.why, row.formula])].join("\n");

/** Widths of the columns of figures, px; text columns share the rest. */
const COUNT = 70;
const TOTAL = 78;
const GAIN = 120;

/** The share of the rest that kernels take, where the trace records inputs of ops and where it does not. */
const KERNEL = { with_inputs: 0.18, without: 0.26 } as const;

/** The least width of the text columns, px. */
const LEAST = 420;

/** The gap to the next column. */
const GAP = 8;

export function opportunityColumns(
  all: readonly Opportunity[],
  width: number,
  meanings: Meanings,
): Column<Opportunity>[] {
  const longest = largestOf(all, (row) => row.gain_ns);
  const rest = Math.max(LEAST, width - COUNT - TOTAL - GAIN);
  const figure = figuresOf<Opportunity>(meanings);
  const kernel = KERNEL[all.some((row) => row.shapes !== null) ? "with_inputs" : "without"] * rest;
  return [
    {
      id: "op",
      label: "Op",
      order: (row) => row.op,
      cell: (row) => <Op row={row} />,
      file: fileFields<Opportunity>({ op: "Op", shapes: "Shapes", dtypes: "Types" }),
    },
    {
      id: "kernel",
      label: "Kernel",
      width: `${kernel}px`,
      order: shortOfKernel,
      cell: (row) => <KernelName name={row.kernel} shown={fitted(shortOfKernel(row), kernel - GAP)} />,
      file: fileFields<Opportunity>({ kernel: "Kernel" }),
    },
    {
      id: "why",
      label: "Why not",
      order: (row) => sentence(meanings.explain(row.why)),
      prose: (row) => ({ text: meanings.explain(row.why), more: row.setting }),
      file: [
        { label: "Why not", of: (row) => sentence(meanings.explain(row.why)) },
        ...fileFields<Opportunity>({ setting: "Setting" }),
      ],
    },
    figure("count", "count", COUNT, (row) => row.count, { adds: "recording" }),
    figure("total", "total_ns", TOTAL, (row) => row.total_ns, TIME),
    {
      ...figure("gain", "opportunity_gain_ns", GAIN, gainOf, TIME),
      bar: (row) => [{ ...binOf(meanings, "matmul_like"), share: (gainOf(row) ?? 0) / longest }],
      hint: (row) => sentence(meanings.explain(row.formula)),
      file: [
        { label: "Gain, up to", unit: "ns", of: gainOf },
        { label: "Formula", of: (row) => sentence(meanings.explain(row.formula)) },
      ],
    },
  ];
}

const TIME = timesOf("recording");

/** The op, and its inputs in faint type. */
function Op({ row }: { row: Opportunity }) {
  const inputs = inputsOf(row.shapes, row.dtypes);
  const whole = [row.op, row.shapes, row.dtypes].filter((each) => each !== null);
  return (
    <span data-hint={whole.join("\n")}>
      {row.op ?? DASH}
      {inputs && <span class="faint"> {inputs}</span>}
    </span>
  );
}

/** The sum of the rows that are folded or filtered away, so that the columns still add up to the whole. */
export const opportunityFoot = (left: Left): Foot => ({
  name: counted(left.count, "more launch", "more launches"),
  cells: { total: left.ns, gain: left.gain_ns },
});

/** Rows whose op, shapes, types, kernel or reason match the typed text. */
export const holding = (rows: readonly Opportunity[], typed: string, meanings: Meanings): readonly Opportunity[] =>
  matchingRows(rows, typed, (row) => [
    ...[row.op, row.shapes, row.dtypes, row.kernel, row.short],
    ...[sentence(meanings.explain(row.why)), row.setting],
  ]);

const shortOfKernel = ({ short, kernel }: Opportunity): string => shortOf({ short, name: kernel });

/** Null where the server had no data to compute it from: its formula then has no figures. */
export const gainOf = (row: Opportunity): number | null =>
  Object.keys(row.formula.values).length === 0 ? null : row.gain_ns;

interface Left {
  count: number;
  ns: number;
  gain_ns: number;
}

/** Launches that are in none of the shown rows: folded by the server, or filtered away. */
export function leftOf(device: DeviceSplit, shown: readonly Opportunity[]): Left {
  const lacks = (of: (row: Opportunity) => number) => sum(device.opportunities, of) - sum(shown, of);
  return {
    count: device.opportunities_more_count + lacks((row) => row.count),
    ns: device.opportunities_more_ns + lacks((row) => row.total_ns),
    gain_ns: device.opportunities_more_gain_ns + lacks((row) => row.gain_ns),
  };
}

/** "1024×512, 512×256, float": operands without a shape are left out, a type that all share is written once. */
export function inputsOf(shapes: string | null, dtypes: string | null): string {
  const sizes = listOf(shapes)
    .map(sizeOf)
    .filter((size) => size !== "");
  const types = new Set(
    listOf(dtypes)
      .filter((type): type is string => typeof type === "string" && type !== "")
      .map((type) => type.replace(/^c10::/, "")),
  );
  return [...sizes, ...[...types].filter((type) => !NOT_TENSORS.has(type))].join(", ");
}

/** What the profiler writes in place of a type for numbers and lists. */
const NOT_TENSORS: ReadonlySet<string> = new Set(["Scalar", "ScalarList", "TensorList", "GenericList"]);

/** "64×32"; empty for a scalar, nested lists (lists of tensors) in brackets. */
function sizeOf(shape: unknown): string {
  if (!Array.isArray(shape)) return "";
  if (shape.some(Array.isArray)) return `[${shape.map(sizeOf).join(", ")}]`;
  return shape.join("×");
}

/** Empty where the text is not a list: an older profiler truncates long ones. */
function listOf(json: string | null): readonly unknown[] {
  try {
    const read: unknown = JSON.parse(json ?? "[]");
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}
