import { useMemo, useState } from "preact/hooks";
import type { ModuleRow, OperatorsResult } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { Chips } from "../../components/chips";
import type { TableData } from "../../components/data_table";
import { totalsText } from "../../components/figures";
import { toggled } from "../../components/legend";
import { Middle } from "../../components/middle";
import { Picture } from "../../components/picture";
import { type Column, type Foot, Table } from "../../components/table";
import { counted } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { readingOf, sorting } from "../choices";
import { comparedColumns, OnlyThere } from "../compare/column";
import { IN_GRAPHS, tensorText } from "./columns";
import { linesOf, type ModuleLine, openAtFirst, pathsOf } from "./module_lines";
import { type ComparedModules, comparedModules, wholeOf } from "./other";
import { knowsMemory, type OperatorPart } from "./tables";

/** Lines before the table scrolls. */
const MOST = 18;

const LAYERS = [
  { id: "folded", label: "Folded", meaning: "Repeated layers are one row." },
  { id: "single", label: "One by one", meaning: "A row for each module." },
];

/** Modules as they nest, repeated layers folded or one by one. */
export function Modules(part: OperatorPart) {
  const { result, titles, tab, name } = part;
  const layers = tab.state.layers ?? "folded";
  const rows = layers === "single" ? result.modules : result.folded;
  const other = comparedModules(part, layers === "single");
  return (
    <Picture
      title={titles.modules ?? "Which modules take the time?"}
      sub={totalsText(readingOf(tab))}
      name={`modules ${name}`}
      drawn={false}
      table={() => csvOf(rows)}
      link={() => tab.address()}
      tools={
        <div class="groupings">
          <Chips
            label="Repeated layers"
            name="Layers"
            chosen={layers}
            options={LAYERS}
            choose={(id) => tab.update({ layers: id === "single" ? "single" : null })}
          />
        </div>
      }
    >
      <Tree key={layers} rows={rows} part={part} folded={layers !== "single"} other={other} />
      {other && <OnlyThere {...other.only} />}
      {layers === "single" && result.more_modules > 0 && (
        <p class="quiet small aside">
          {counted(result.more_modules, "module")} with less time {result.more_modules === 1 ? "is" : "are"} left out;
          the modules around them count what is inside.
        </p>
      )}
    </Picture>
  );
}

interface TreeProps {
  rows: readonly ModuleRow[];
  part: OperatorPart;
  folded: boolean;
  other: ComparedModules | null;
}

function Tree({ rows, part, folded, other }: TreeProps) {
  const { result, tab } = part;
  const [open, setOpen] = useState(() => openAtFirst(rows, MOST));
  const lines = useMemo(() => linesOf(rows, open), [rows, open]);
  return (
    <Table
      label="Modules"
      columns={columnsOf(tab.meanings, { window: result.steps_ns, onDevice: result.has_device, folded, rows, other })}
      rows={lines}
      rowKey={(line) => line.key}
      choice={sorting(tab, "modules").choice}
      sort={undefined}
      onSort={null}
      branch={(line) => ({ level: line.depth + 1, open: line.inside > 0 ? line.open : undefined })}
      onChoose={(line) => line.inside > 0 && setOpen(toggled(line.key, open))}
      maxRows={MOST}
      foot={outsideOf(result.outside_modules)}
    />
  );
}

/** What the outermost modules lack to all that the steps launch and allocate. */
const outsideOf = ({ device_ns, allocated_bytes }: OperatorsResult["outside_modules"]): Foot | false =>
  (device_ns !== null || allocated_bytes !== null) && {
    name: "outside any module",
    cells: { device_total: device_ns, allocated: allocated_bytes },
  };

interface Shown {
  /** Of the steps, ns. */
  window: number;
  onDevice: boolean;
  folded: boolean;
  rows: readonly ModuleRow[];
  other: ComparedModules | null;
}

const INDENT = 14;

function columnsOf(meanings: Meanings, { window, onDevice, folded, rows, other }: Shown): Column<ModuleLine>[] {
  const backward = rows.some((row) => row.backward_host_ns > 0);
  const time = (id: string, metric: string, of: (row: ModuleRow) => number | null): Column<ModuleLine> => ({
    id,
    ...columnHead(meanings, metric),
    width: "76px",
    figures: { of: ({ row }) => of(row), unit: "ns", adds: "recording", siblings: "time" },
  });
  const onHost = (id: string, metric: string, of: (row: ModuleRow) => number | null): Column<ModuleLine> => ({
    ...time(id, metric, (row) => (runsInGraphs(row) ? null : of(row))),
    missing: IN_GRAPHS,
  });
  const bytes = (id: string, metric: string, of: (row: ModuleRow) => number | null) => ({
    ...time(id, metric, of),
    figures: {
      of: ({ row }: ModuleLine) => of(row),
      unit: "bytes" as const,
      adds: "recording" as const,
      siblings: "bytes",
    },
  });
  const when = (wanted: boolean, ...columns: Column<ModuleLine>[]) => (wanted ? columns : []);
  return [
    { id: "module", label: "Module", least: "150px", cell: (line) => <Name line={line} /> },
    {
      id: "occurrences",
      ...columnHead(meanings, "module_occurrences"),
      width: "50px",
      figures: { of: ({ row }) => row.occurrences, unit: "count", adds: "recording" },
    },
    {
      id: "share",
      ...columnHead(meanings, "module_share"),
      width: "112px",
      figures: { of: ({ row }) => (window ? wholeOf(row, onDevice) / window : null), unit: "fraction" },
      cell: ({ row }, written) => (
        <span class="total">
          <InlineBar
            segments={[
              { share: window ? Math.min(1, wholeOf(row, onDevice) / window) : 0, colour: onDevice ? "kernel" : "cpu" },
            ]}
          />
          {written}
        </span>
      ),
    },
    ...when(
      folded,
      {
        id: "each",
        ...columnHead(meanings, "module_each"),
        width: "70px",
        figures: { of: ({ row }) => eachOf(row), unit: "ns", siblings: "call" },
      },
      {
        id: "slowest",
        ...columnHead(meanings, "module_slowest"),
        width: "70px",
        figures: { of: ({ row }) => (row.instances > 1 ? row.slowest_ns : null), unit: "ns", siblings: "call" },
        missing: "No layer is repeated.",
        extra: other !== null,
      },
    ),
    onHost("host_total", "op_host_total", (row) => row.host_total_ns),
    { ...onHost("host_self", "op_host_self", (row) => row.host_self_ns), extra: other !== null && onDevice },
    { ...onHost("python", "module_python", (row) => row.python_ns), extra: true },
    ...when(
      onDevice,
      time("device_total", "op_device_total", (row) => row.device_total_ns),
      time("device_self", "op_device_self", (row) => row.device_self_ns),
    ),
    ...when(
      backward && onDevice,
      time("backward_device", "module_backward_device", (row) => row.backward_device_ns),
    ),
    ...when(backward, {
      ...time("backward_host", "module_backward_host", (row) => row.backward_host_ns),
      extra: onDevice,
    }),
    ...when(
      onDevice,
      {
        id: "tensor",
        ...columnHead(meanings, "op_tensor_share"),
        width: "80px",
        numeric: true,
        cell: ({ row }) => tensorText(row),
        missing: "It launches no kernel, or there are no tensor cores.",
      },
      { ...time("idle", "op_idle", (row) => row.idle_ns), extra: true },
    ),
    ...(knowsMemory(rows)
      ? [
          bytes("allocated", "module_allocated", (row) => row.allocated_bytes),
          { ...bytes("allocated_self", "module_allocated_self", (row) => row.allocated_self_bytes), extra: true },
          ...when(
            backward,
            bytes("backward_allocated", "module_backward_allocated", (row) => row.backward_allocated_bytes),
          ),
        ]
      : []),
    ...(other ? comparedColumns(ofLines(other.columns)) : []),
  ];
}

/** The same of the lines that show the rows. */
const ofLines = ({ rows, others, keyOf, ns, otherNs, ...more }: ComparedModules["columns"]) => ({
  ...more,
  rows: rows.map(lineOf),
  others: others.map(lineOf),
  keyOf: ({ row }: ModuleLine) => keyOf(row),
  ns: ({ row }: ModuleLine) => ns(row),
  otherNs: ({ row }: ModuleLine) => otherNs(row),
});

const lineOf = (row: ModuleRow): ModuleLine => ({ row, key: 0, depth: 0, inside: 0, open: false });

/** Mean of a call in the forward pass. */
/** Whether graphs alone run its forward pass: then nothing of it is on the host. */
const runsInGraphs = (row: ModuleRow): boolean => row.host_total_ns === 0 && (row.device_total_ns ?? 0) > 0;

const eachOf = (row: ModuleRow): number => (row.device_total_ns || row.host_total_ns) / Math.max(1, row.occurrences);

function Name({ line: { row, depth, inside, open } }: { line: ModuleLine }) {
  return (
    <span class="range-name" style={{ paddingLeft: `${INDENT * depth}px` }}>
      <svg viewBox="0 0 8 8" aria-hidden="true">
        {inside > 0 && <path d={open ? "M1 2.500l3 3 3-3" : "M2.500 1l3 3-3 3"} />}
      </svg>
      <Middle name={row.name} />
      {row.instances > 1 && <span class="quiet">{counted(row.instances, "module")}</span>}
    </span>
  );
}

function csvOf(rows: readonly ModuleRow[]): TableData {
  const paths = pathsOf(rows);
  const times = [
    "Host, total",
    "Host, self",
    "Python",
    "Device, total",
    "Device, self",
    "Backward, host",
    "Backward, device",
  ];
  return {
    columns: [
      { label: "Module" },
      { label: "Modules", unit: "count" },
      { label: "Calls", unit: "count" },
      ...times.map((label) => ({ label, unit: "ns" as const })),
      ...["Allocated, total", "Allocated, self", "Backward, allocated"].map((label) => ({
        label,
        unit: "bytes" as const,
      })),
    ],
    rows: rows.map((row, at) => [
      paths[at]!,
      row.instances,
      row.occurrences,
      row.host_total_ns,
      row.host_self_ns,
      row.python_ns,
      row.device_total_ns,
      row.device_self_ns,
      row.backward_host_ns,
      row.backward_device_ns,
      row.allocated_bytes,
      row.allocated_self_bytes,
      row.backward_allocated_bytes,
    ]),
  };
}
