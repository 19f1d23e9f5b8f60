/** What stays from step to step, what each step allocates and frees again, and what each op allocates. */

import type { ChurnRow, Maker, OpMemory } from "../../api.gen";
import { tableData } from "../../components/data_table";
import { NoPicture, Picture } from "../../components/picture";
import { type Column, fileColumns, fileFields, Table } from "../../components/table";
import { change } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { marking, sorting, totalsOf } from "../choices";
import { titleOf } from "../props";
import { figureColumn, figuresOf, Middle, TablePicture } from "../table_picture";
import { codeColumn, madeIn } from "./alive";
import type { MemoryPart } from "./data";

export function GrowthTable({ device, place, titles, tab, name }: MemoryPart) {
  const { growth, makers } = device;
  const title = titleOf({ titles }, `memory_growth.${place}`);
  if (growth.reason) return <NoPicture title={title} why={tab.meanings.explain(growth.reason)} />;
  const key = ({ example }: Maker) =>
    [example.op, example.outer_op, example.module, example.line, example.phase].join();
  return (
    <Picture
      title={title}
      sub={
        growth.every_step || !growth.bytes_per_step ? undefined : `${change(0, growth.bytes_per_step, "bytes")} a step`
      }
      name={`memory growth ${name}`}
      drawn={false}
      table={() => tableData(fileColumns(makerColumns(tab.meanings)), makers)}
    >
      {device.whole && makers.length > 0 && (
        <Table
          label="What every step leaves allocated"
          columns={makerColumns(tab.meanings)}
          rows={makers}
          rowKey={key}
          maxRows={6}
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
    cell: ({ example }) => madeIn(example),
    hint: ({ example }) => madeIn(example),
    file: [{ label: "Op", of: ({ example }) => example.op }],
  },
  codeColumn(meanings, ({ example }) => example),
  {
    id: "since",
    ...columnHead(meanings, "memory_since"),
    width: "64px",
    cell: (row) => row.since,
    file: fileFields<Maker>({ since: "Since step" }),
  },
  figuresOf<Maker>(meanings)("bytes", "memory_growth", 88, (row) => row.bytes_per_step),
];

export function Churn({ device, tab, name }: MemoryPart) {
  return (
    <TablePicture
      title="What does each step allocate and free again?"
      sub={totalsOf(tab)}
      name={`memory churn ${name}`}
      label="Allocated and freed within a step"
      columns={churnColumns(tab.meanings)}
      rows={device.churn}
      rowKey={(row) => row.op ?? ""}
      maxRows={8}
      order={["churn", "-bytes"]}
      tab={tab}
    />
  );
}

function churnColumns(meanings: Meanings): Column<ChurnRow>[] {
  const figure = figuresOf<ChurnRow>(meanings);
  return [
    { id: "op", label: "Op", order: (row) => row.op, cell: (row) => <Middle name={row.op ?? "outside of ops"} /> },
    figure("count", "memory_churn_count", 88, (row) => row.count, { adds: "step" }),
    figure("largest", "memory_churn_largest", 80, (row) => row.largest_bytes),
    figure("bytes", "memory_churn_bytes", 80, (row) => row.bytes, { adds: "step" }),
  ];
}

export function ByOp({ device, tab, name }: MemoryPart) {
  return (
    <TablePicture
      title="Which ops allocate?"
      sub="over the recording"
      name={`memory by op ${name}`}
      label="Memory by op"
      columns={opColumns(tab.meanings)}
      rows={device.by_op}
      rowKey={(row) => row.op}
      maxRows={8}
      order={["allocating", "-own"]}
      tab={tab}
    />
  );
}

function opColumns(meanings: Meanings): Column<OpMemory>[] {
  const figure = figuresOf<OpMemory>(meanings);
  return [
    { id: "op", label: "Op", order: (row) => row.op, cell: (row) => <Middle name={row.op} /> },
    figureColumn("calls", "Calls", 64, "count", (row) => row.calls),
    figure("own", "memory_op_own", 96, (row) => row.allocated_bytes),
    figure("all", "memory_op_all", 96, (row) => row.all_allocated_bytes),
    figure("increase", "memory_op_increase", 80, (row) => row.all_increase_bytes),
  ];
}
