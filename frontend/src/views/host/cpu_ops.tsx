import type { CpuOpRow, CpuWork } from "../../api.gen";
import { totalsText } from "../../components/figures";
import { Middle } from "../../components/middle";
import type { Column } from "../../components/table";
import { counted } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { readingOf } from "../choices";
import { differenceColumn } from "../compare/column";
import type { HostPart } from "../props";
import { barColumn, figuresOf, TablePicture } from "../table_picture";

/** What the CPU computes, where no GPU is recorded: ops by their own time. */
export function CpuOps({ work, tab, name, compared = null }: HostPart & { work: CpuWork }) {
  if (work.ops.length === 0) return null;
  return (
    <TablePicture
      title="Which ops take the CPU's time?"
      sub={`${totalsText(readingOf(tab))}, on ${threadsOf(work)}`}
      name={`cpu ops ${name}`}
      label="Ops on the CPU"
      columns={[...columnsOf(work, tab.meanings), ...difference(work, compared)]}
      rows={work.ops}
      rowKey={(row) => row.op}
      mark={["cpu_ops", (row) => row.op]}
      order="cpu_ops"
      tab={tab}
    />
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
  const figure = figuresOf<CpuOpRow>(meanings);
  return [
    { id: "op", label: "Op", order: (row) => row.op, cell: (row) => <Middle name={row.op} /> },
    barColumn((row) => [{ share: row.self_ns / longest, colour: "cpu" }], "64px"),
    { id: "calls", label: "Calls", width: "48px", figures: { of: (row) => row.calls, unit: "number", adds: "step" } },
    figure("self", "cpu_op_self_ns", 76, (row) => row.self_ns, { adds: "step" }),
    figure("share", "cpu_op_share", 60, (row) => (work.step_ns ? row.self_ns / work.step_ns : null)),
    ...(work.ops.some((row) => row.allocated_bytes !== null)
      ? [figure("allocated", "cpu_op_allocated", 76, (row) => row.allocated_bytes, { adds: "step" })]
      : []),
    ...(work.ops.some((row) => row.dtype !== null) ? [dtypeColumn(meanings)] : []),
  ];
}

const dtypeColumn = (meanings: Meanings): Column<CpuOpRow> => ({
  id: "dtype",
  ...columnHead(meanings, "cpu_op_dtype"),
  width: "64px",
  order: (row) => row.dtype ?? "",
  cell: (row) => row.dtype,
});
