/** The smaller tables of Host: copies, ops on the CPU, pauses and slow steps. */

import { rangeInTimeline } from "../../address/selection";
import type { CopyRow, CpuOpRow, CpuWork, Grown, Pause } from "../../api.gen";
import { type Column, fileFields } from "../../components/table";
import { counted, ns } from "../../format";
import { largestOf } from "../../lists";
import { columnHead, type Meanings } from "../../meanings";
import { totalsOf } from "../choices";
import { differences } from "../compare/compared_columns";
import { type HostPart, titleOf } from "../props";
import { barColumn, figureColumn, figuresOf, Middle, TablePicture, timesOf } from "../table_picture";

/** Copies by direction and kinds of memory. */
export function Copies({ result: { copies }, titles, tab, name }: HostPart) {
  return (
    <TablePicture
      title={titleOf({ titles }, "copies")}
      sub={totalsOf(tab)}
      name={`copies ${name}`}
      label="Copies"
      columns={columnsOf(tab.meanings)}
      rows={copies}
      rowKey={(row) => [row.direction, row.source, row.target].join()}
      order="copies"
      tab={tab}
    />
  );
}

const TIME = timesOf("step");

function columnsOf(meanings: Meanings): Column<CopyRow>[] {
  const figure = figuresOf<CopyRow>(meanings);
  const hintOf = ({ direction, op, pageable }: CopyRow) =>
    [direction, op, pageable ? meanings.metric("pageable_copy").meaning : null].filter(Boolean).join("\n");
  return [
    {
      id: "copy",
      label: "Copy",
      order: (row) => row.direction,
      cell: (row) => (
        <>
          {row.source} to {row.target}
          {row.op && <span class="faint">, {row.op}</span>}
        </>
      ),
      hint: hintOf,
      file: fileFields<CopyRow>({ direction: "Direction", source: "From", target: "To", op: "Op" }),
    },
    figureColumn("count", "Count", 48, "number", (row) => row.count, { adds: "step" }),
    figureColumn("bytes", "Bytes", 64, "bytes", (row) => row.bytes, { adds: "step" }),
    figure("rate", "copy_rate", 76, (row) => row.bytes_per_second),
    figureColumn("time", "Time", 64, "ns", (row) => row.total_ns, TIME),
    figure("hidden", "copy_hidden_ns", 64, (row) => row.hidden_ns, TIME),
    figure("blocked", "copy_blocked_ns", 64, (row) => row.blocked_ns, TIME),
  ];
}

/** What the CPU computes, where no GPU is recorded: ops by their own time. */
export function CpuOps({ work, tab, name, compared = null }: HostPart & { work: CpuWork }) {
  if (work.ops.length === 0) return null;
  return (
    <TablePicture
      title="Which ops take the CPU's time?"
      sub={`${totalsOf(tab)}, on ${threadsOf(work)}`}
      name={`cpu ops ${name}`}
      label="Ops on the CPU"
      columns={[...cpuColumns(work, tab.meanings), ...cpuDifference(work, compared)]}
      rows={work.ops}
      rowKey={(row) => row.op}
      mark={["cpu_ops", (row) => row.op]}
      order="cpu_ops"
      maxRows={10}
      tab={tab}
    />
  );
}

const cpuDifference = ({ ops: rows }: CpuWork, compared: HostPart["compared"]) =>
  differences(compared, compared?.page.result.cpu?.ops, { rows, keyOf: ({ op }) => op, ns: (row) => row.self_ns });

/** The threads that run ops. Threads that share the work of a single op belong to OpenMP, and no trace records them. */
const threadsOf = ({ threads, cores }: CpuWork): string =>
  cores === null ? counted(threads, "thread") : `${counted(threads, "thread")} of ${counted(cores, "core")}`;

function cpuColumns(work: CpuWork, meanings: Meanings): Column<CpuOpRow>[] {
  const longest = largestOf(work.ops, (row) => row.self_ns);
  const figure = figuresOf<CpuOpRow>(meanings);
  return [
    { id: "op", label: "Op", order: (row) => row.op, cell: (row) => <Middle name={row.op} /> },
    barColumn((row) => [{ share: row.self_ns / longest, colour: "cpu" }], "64px"),
    figureColumn("calls", "Calls", 48, "number", (row) => row.calls, { adds: "step" }),
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
});

/** Rare long stops of the host that no op explains. */
export function Pauses({ result: { pauses }, titles, tab, name }: HostPart) {
  return (
    <TablePicture
      title={titleOf({ titles }, "pauses")}
      sub={totalsOf(tab)}
      name={`pauses ${name}`}
      label="Pauses of the host"
      columns={pauseColumns(tab.meanings)}
      rows={pauses}
      rowKey={(row) => `${row.cause} ${row.name ?? ""}`}
      mark={["pauses", (row) => String(row.worst_start_ns)]}
      order="pauses"
      tab={tab}
      onChoose={(row) =>
        tab.update(rangeInTimeline({ step: row.worst_step, start_ns: row.worst_start_ns, end_ns: row.worst_end_ns }))
      }
    />
  );
}

type Causes = Readonly<Record<string, string>>;

/** A cause that the trace does not name is inferred from the pattern, if at all. */
const causeOf = ({ cause, sure, name }: Pause, causes: Causes): string =>
  (causes[cause] ?? cause) + (sure || name === null ? "" : ", by its pattern");

function pauseColumns(meanings: Meanings): Column<Pause>[] {
  const figure = figuresOf<Pause>(meanings);
  const idleOf = (row: Pause) => row.idle_ns;
  return [
    {
      id: "cause",
      label: "Cause",
      order: (row) => causeOf(row, meanings.causes),
      cell: (row) => (
        <>
          {causeOf(row, meanings.causes)}
          {row.name && <span class="faint"> {row.name}</span>}
        </>
      ),
      hint: (row) => row.name,
      file: [{ label: "Cause", of: (row) => causeOf(row, meanings.causes) }, ...fileFields<Pause>({ name: "Name" })],
    },
    figure("count", "pause_count", 52, (row) => row.count, { adds: "recording" }),
    figure("total", "pause_total_ns", 76, (row) => row.total_ns, { adds: "recording" }),
    figureColumn("longest", "Longest", 76, "ns", (row) => row.worst_end_ns - row.worst_start_ns),
    {
      ...figureColumn("idle", "GPU idle", 76, "ns", idleOf, { adds: "step" }),
      file: [{ label: "GPU idle a step", unit: "ns", of: idleOf }],
    },
  ];
}

/** Steps that are longer than the others, and what took longer in them. */
export function SlowSteps({ result: { grown }, tab, name }: HostPart) {
  return (
    <TablePicture
      title="What slow steps spend more on"
      sub="against the median of the others"
      name={`slow steps ${name}`}
      label="Slow steps"
      columns={slowColumns}
      rows={grown}
      rowKey={(row) => row.step}
      mark={["slow", (row) => row.step]}
      order="grown"
      maxRows={10}
      tab={tab}
      onChoose={(row) => tab.update(rangeInTimeline(row))}
    />
  );
}

const partsOf = ({ grown }: Grown): string => grown.map((part) => `${part.label} ${ns(part.excess_ns)}`).join(", ");

const slowColumns: Column<Grown>[] = [
  {
    id: "step",
    label: "Step",
    width: "56px",
    order: (row) => row.start_ns,
    cell: (row) => row.step,
    file: [{ label: "Step", of: (row) => row.step }],
  },
  figureColumn("time", "Step time", 76, "ns", (row) => row.end_ns - row.start_ns, { siblings: "time" }),
  figureColumn("excess", "Longer by", 76, "ns", (row) => row.excess_ns, { siblings: "time" }),
  {
    id: "grown",
    label: "What grew",
    cell: (row) => (
      <span class="after" data-hint={partsOf(row)}>
        {partsOf(row)}
      </span>
    ),
    file: [{ label: "What grew", of: partsOf }],
  },
];
