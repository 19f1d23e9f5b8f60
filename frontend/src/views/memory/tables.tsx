/** What stays from step to step, what each step makes and frees again, and what each op allocates. */

import type { ChurnRow, Maker, OpMemory } from "../../api.gen";
import { totalsText } from "../../components/figures";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { type Column, Table } from "../../components/table";
import { change, DASH } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { marking, readingOf, sorting } from "../choices";
import { titleOf } from "../props";
import { codeOf, madeIn } from "./alive";
import type { MemoryPart } from "./data";

export function GrowthTable({ device, place, titles, tab, name }: MemoryPart) {
  const { growth, makers } = device;
  const key = ({ example }: Maker) =>
    [example.op, example.outer_op, example.module, example.line, example.phase].join();
  return (
    <Picture
      title={titleOf({ titles }, `memory_growth.${place}`)}
      sub={
        growth.every_step || !growth.bytes_per_step ? undefined : `${change(0, growth.bytes_per_step, "bytes")} a step`
      }
      name={`memory growth ${name}`}
      drawn={false}
      table={() => growthData(makers)}
      link={() => tab.address()}
    >
      {growth.reason && (
        <p class="quiet">
          <Sentence phrase={tab.meanings.explain(growth.reason)} />
        </p>
      )}
      {device.whole && !growth.reason && (
        <Table
          label="What every step leaves allocated"
          columns={makerColumns(tab.meanings)}
          rows={makers}
          rowKey={key}
          maxRows={6}
          empty="Nothing that a step makes is left over by every step."
          {...marking(tab.state, "makers", makers, ({ example }) => example.op ?? "", key)}
          {...sorting(tab, "makers", "-bytes")}
        />
      )}
    </Picture>
  );
}

const makerColumns = (meanings: Meanings): Column<Maker>[] => [
  {
    id: "op",
    ...columnHead(meanings, "memory_op"),
    order: ({ example }) => example.op,
    cell: ({ example }) => <span data-hint={madeIn(example)}>{madeIn(example)}</span>,
  },
  {
    id: "code",
    ...columnHead(meanings, "memory_line"),
    order: ({ example }) => codeOf(example),
    cell: ({ example }) => <span data-hint={codeOf(example) ?? undefined}>{codeOf(example) ?? DASH}</span>,
    missing: "No call stack leads there; with_stack=True records them.",
  },
  { id: "since", ...columnHead(meanings, "memory_since"), width: "64px", cell: (row) => row.since },
  {
    id: "bytes",
    ...columnHead(meanings, "memory_growth"),
    width: "88px",
    figures: { of: (row) => row.bytes_per_step, unit: "bytes" },
  },
];

const growthData = (makers: readonly Maker[]) => ({
  columns: [
    { label: "Op" },
    { label: "Module" },
    { label: "Line" },
    { label: "Since step" },
    { label: "Bytes a step", unit: "bytes" as const },
  ],
  rows: makers.map(({ example, since, bytes_per_step }) => [
    example.op,
    example.module,
    example.line,
    since,
    bytes_per_step,
  ]),
});

export function Churn({ device, tab, name }: MemoryPart) {
  return (
    <Picture
      title="What does each step allocate and free again?"
      sub={totalsText(readingOf(tab))}
      name={`memory churn ${name}`}
      drawn={false}
      table={() => ({
        columns: [
          { label: "Op" },
          { label: "Allocations", unit: "number" },
          { label: "Bytes", unit: "bytes" },
          { label: "Largest", unit: "bytes" },
        ],
        rows: device.churn.map((row) => [row.op, row.count, row.bytes, row.largest_bytes]),
      })}
      link={() => tab.address()}
    >
      <Table
        label="Allocated and freed within a step"
        columns={churnColumns(tab.meanings)}
        rows={device.churn}
        rowKey={(row) => row.op ?? ""}
        maxRows={8}
        {...sorting(tab, "churn", "-bytes")}
      />
    </Picture>
  );
}

const churnColumns = (meanings: Meanings): Column<ChurnRow>[] => [
  { id: "op", label: "Op", order: (row) => row.op, cell: (row) => nameCell(row.op ?? "outside of ops") },
  {
    id: "count",
    ...columnHead(meanings, "memory_churn_count"),
    width: "88px",
    figures: { of: (row) => row.count, unit: "number", adds: "step" },
  },
  {
    id: "largest",
    ...columnHead(meanings, "memory_churn_largest"),
    width: "80px",
    figures: { of: (row) => row.largest_bytes, unit: "bytes" },
  },
  {
    id: "bytes",
    ...columnHead(meanings, "memory_churn_bytes"),
    width: "80px",
    figures: { of: (row) => row.bytes, unit: "bytes", adds: "step" },
  },
];

export function ByOp({ device, tab, name }: MemoryPart) {
  return (
    <Picture
      title="Which ops allocate?"
      sub="over the recording"
      name={`memory by op ${name}`}
      drawn={false}
      table={() => ({
        columns: [
          { label: "Op" },
          { label: "Calls", unit: "count" },
          { label: "Allocated", unit: "bytes" },
          { label: "With children", unit: "bytes" },
          { label: "Increase", unit: "bytes" },
        ],
        rows: device.by_op.map((row) => [
          row.op,
          row.calls,
          row.allocated_bytes,
          row.all_allocated_bytes,
          row.all_increase_bytes,
        ]),
      })}
      link={() => tab.address()}
    >
      <Table
        label="Memory by op"
        columns={opColumns(tab.meanings)}
        rows={device.by_op}
        rowKey={(row) => row.op}
        maxRows={8}
        {...sorting(tab, "allocating", "-own")}
      />
    </Picture>
  );
}

const opColumns = (meanings: Meanings): Column<OpMemory>[] => [
  { id: "op", label: "Op", order: (row) => row.op, cell: (row) => nameCell(row.op) },
  { id: "calls", label: "Calls", width: "64px", figures: { of: (row) => row.calls, unit: "count" } },
  {
    id: "own",
    ...columnHead(meanings, "memory_op_own"),
    width: "96px",
    figures: { of: (row) => row.allocated_bytes, unit: "bytes" },
  },
  {
    id: "all",
    ...columnHead(meanings, "memory_op_all"),
    width: "96px",
    figures: { of: (row) => row.all_allocated_bytes, unit: "bytes" },
  },
  {
    id: "increase",
    ...columnHead(meanings, "memory_op_increase"),
    width: "80px",
    figures: { of: (row) => row.all_increase_bytes, unit: "bytes" },
  },
];

const nameCell = (name: string) => <span data-hint={name}>{name}</span>;
