import type { CpuOpRow, CpuWork } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { totalsText } from "../../components/figures";
import { Middle } from "../../components/middle";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { counted } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { marking, readingOf, sorting } from "../choices";
import { differenceColumn } from "../compare/column";
import type { HostPart } from "../props";

/** What the CPU computes, where no GPU is recorded: ops by their own time. */
export function CpuOps({ work, tab, name, compared = null }: HostPart & { work: CpuWork }) {
  if (work.ops.length === 0) return null;
  return (
    <Picture
      title="Which ops take the CPU's time?"
      sub={`${totalsText(readingOf(tab))}, on ${threadsOf(work)}`}
      name={`cpu ops ${name}`}
      drawn={false}
      table={() => tableOf(work)}
      link={() => tab.address()}
    >
      <Table
        label="Ops on the CPU"
        columns={[...columnsOf(work, tab.meanings), ...difference(work, compared)]}
        rows={work.ops}
        rowKey={(row) => row.op}
        {...marking(
          tab.state,
          "cpu_ops",
          work.ops,
          (row) => row.op,
          (row) => row.op,
        )}
        {...sorting(tab, "cpu_ops")}
      />
    </Picture>
  );
}

function difference({ ops }: CpuWork, compared: HostPart["compared"]): Column<CpuOpRow>[] {
  const others = compared?.page.result.cpu?.ops;
  if (!compared || !others) return [];
  const { name, own } = compared;
  return [differenceColumn({ rows: ops, others, keyOf: (row) => row.op, ns: (row) => row.self_ns, name, own })];
}

/** Threads that run ops. Those that share the work of one op are OpenMP's, and no trace has them. */
const threadsOf = ({ threads, cores }: CpuWork): string =>
  cores === null ? counted(threads, "thread") : `${counted(threads, "thread")} of ${counted(cores, "core")}`;

function columnsOf(work: CpuWork, meanings: Meanings): Column<CpuOpRow>[] {
  const longest = work.ops.reduce((most, row) => Math.max(most, row.self_ns), 1);
  const columns: Column<CpuOpRow>[] = [
    {
      id: "op",
      label: "Op",
      order: (row) => row.op,
      cell: (row) => <Middle name={row.op} />,
    },
    {
      id: "bar",
      label: "",
      width: "64px",
      cell: (row) => <InlineBar segments={[{ share: row.self_ns / longest, colour: "cpu" }]} />,
    },
    {
      id: "calls",
      label: "Calls",
      width: "48px",
      figures: { of: (row) => row.calls, unit: "number", adds: "step" },
    },
    {
      id: "self",
      ...columnHead(meanings, "cpu_op_self_ns"),
      width: "76px",
      figures: { of: (row) => row.self_ns, unit: "ns", adds: "step" },
    },
    {
      id: "share",
      ...columnHead(meanings, "cpu_op_share"),
      width: "60px",
      figures: { of: (row) => (work.step_ns ? row.self_ns / work.step_ns : null), unit: "fraction" },
    },
  ];
  if (withMemory(work.ops)) {
    columns.push({
      id: "allocated",
      ...columnHead(meanings, "cpu_op_allocated"),
      width: "76px",
      figures: { of: (row) => row.allocated_bytes, unit: "bytes", adds: "step" },
    });
  }
  if (work.ops.every((row) => row.dtype === null)) return columns;
  const dtype: Column<CpuOpRow> = {
    id: "dtype",
    ...columnHead(meanings, "cpu_op_dtype"),
    width: "64px",
    order: (row) => row.dtype ?? "",
    cell: (row) => row.dtype,
  };
  return [...columns, dtype];
}

const withMemory = (ops: readonly CpuOpRow[]): boolean => ops.some((row) => row.allocated_bytes !== null);

const tableOf = ({ ops }: CpuWork) => ({
  columns: [
    { label: "Op" },
    { label: "Calls", unit: "number" as const },
    { label: "Own time", unit: "ns" as const },
    { label: "Input" },
    ...(withMemory(ops) ? [{ label: "Allocated", unit: "bytes" as const }] : []),
  ],
  rows: ops.map((row) => [
    row.op,
    row.calls,
    row.self_ns,
    row.dtype,
    ...(withMemory(ops) ? [row.allocated_bytes] : []),
  ]),
});
