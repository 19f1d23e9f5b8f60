import { useMemo, useState } from "preact/hooks";
import type { ModuleRow, OperatorsResult } from "../../api.gen";
import { Chips } from "../../components/chips";
import { tableData } from "../../components/data_table";
import { toggled } from "../../components/legend";
import { Picture } from "../../components/picture";
import { type Column, type Foot, fileColumns, Table } from "../../components/table";
import { counted } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sorting, totalsOf } from "../choices";
import { comparedColumns, OnlyThere } from "../compare/compared_columns";
import { Branch, figuresOf, Middle, timesOf } from "../table_picture";
import { type ComparedModules, comparedModules, wholeOf } from "./compared";
import { linesOf, type ModuleLine, openAtFirst, pathsOf } from "./module_lines";
import { IN_GRAPHS, tensorText } from "./op_table";
import { knowsMemory, type OperatorPart } from "./tables";

/** The number of lines from which the table scrolls. */
const MOST = 12;

const LAYERS = [
  { id: "folded", label: "Folded", meaning: "Repeated layers are one row." },
  { id: "single", label: "One by one", meaning: "A row for each module." },
];

/** Modules as they are nested, with repeated layers folded or listed individually. */
export function Modules(part: OperatorPart) {
  const { result, titles, tab, name } = part;
  const layers = tab.state.layers ?? "folded";
  const rows = layers === "single" ? result.modules : result.folded;
  const other = comparedModules(part, layers === "single");
  const { steps_ns: window, has_device: onDevice } = result;
  const shown = { window, onDevice, folded: layers !== "single", rows, other };
  return (
    <Picture
      title={titles.modules ?? "Which modules take the time?"}
      sub={totalsOf(tab)}
      name={`modules ${name}`}
      drawn={false}
      table={() => tableData(fileColumns(columnsOf(tab.meanings, shown)), linesOf(rows, new Set(rows.keys())))}
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
      <Tree key={layers} part={part} shown={shown} />
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

function Tree({ part: { result, tab }, shown }: { part: OperatorPart; shown: Shown }) {
  const { rows } = shown;
  const [open, setOpen] = useState(() => openAtFirst(rows, MOST));
  const lines = useMemo(() => linesOf(rows, open), [rows, open]);
  return (
    <Table
      label="Modules"
      columns={columnsOf(tab.meanings, shown)}
      rows={lines}
      rowKey={(line) => line.key}
      choice={sorting(tab, "modules").choice}
      branch={(line) => ({ level: line.depth + 1, open: line.inside > 0 ? line.open : undefined })}
      onChoose={(line) => line.inside > 0 && setOpen(toggled(line.key, open))}
      maxRows={MOST}
      foot={outsideOf(result.outside_modules)}
    />
  );
}

/** The part of everything that the steps launch and allocate which is outside the outermost modules. */
const outsideOf = ({ device_ns, allocated_bytes }: OperatorsResult["outside_modules"]): Foot | false =>
  (device_ns !== null || allocated_bytes !== null) && {
    name: "outside any module",
    cells: { device_total: device_ns, allocated: allocated_bytes },
  };

interface Shown {
  /** The length of the steps, ns. */
  window: number;
  onDevice: boolean;
  folded: boolean;
  rows: readonly ModuleRow[];
  other: ComparedModules | null;
}

function columnsOf(meanings: Meanings, { window, onDevice, folded, rows, other }: Shown): Column<ModuleLine>[] {
  const backward = rows.some((row) => row.backward_host_ns > 0);
  const paths = pathsOf(rows);
  const figure = (id: string, metric: string, width: number, of: (row: ModuleRow) => number | null, how = {}) =>
    figuresOf<ModuleLine>(meanings)(id, metric, width, ({ row }) => of(row), how);
  const time = (id: string, metric: string, of: (row: ModuleRow) => number | null) =>
    figure(id, metric, 76, of, timesOf("recording"));
  const onHost = (id: string, metric: string, of: (row: ModuleRow) => number | null): Column<ModuleLine> => ({
    ...time(id, metric, (row) => (runsInGraphs(row) ? null : of(row))),
    missing: IN_GRAPHS,
  });
  const bytes = (id: string, metric: string, of: (row: ModuleRow) => number | null) =>
    figure(id, metric, 76, of, { adds: "recording", siblings: "bytes" });
  const when = (shown: boolean, ...columns: Column<ModuleLine>[]) => (shown ? columns : []);
  return [
    {
      id: "module",
      label: "Module",
      least: "150px",
      cell: (line) => <Name line={line} />,
      file: [
        { label: "Module", of: ({ key }) => paths[key]! },
        { label: "Modules", unit: "count", of: ({ row }) => row.instances },
      ],
    },
    figure("occurrences", "module_occurrences", 50, (row) => row.occurrences, { adds: "recording" }),
    {
      ...figure("share", "module_share", 112, (row) => (window ? wholeOf(row, onDevice) / window : null)),
      bar: ({ row }) => [
        { share: window ? Math.min(1, wholeOf(row, onDevice) / window) : 0, colour: onDevice ? "kernel" : "cpu" },
      ],
    },
    ...when(folded, figure("each", "module_each", 70, eachOf, { siblings: "call" }), {
      ...figure("slowest", "module_slowest", 70, (row) => (row.instances > 1 ? row.slowest_ns : null), {
        siblings: "call",
      }),
      missing: "No layer is repeated.",
      extra: other !== null,
    }),
    onHost("host_total", "op_host_total", (row) => row.host_total_ns),
    { ...onHost("host_self", "op_host_self", (row) => row.host_self_ns), extra: onDevice },
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

/** The same columns for the lines that show the rows. */
const ofLines = ({ rows, others, keyOf, ns, ...more }: ComparedModules["columns"]) => ({
  ...more,
  rows: rows.map(lineOf),
  others: others.map(lineOf),
  keyOf: ({ row }: ModuleLine) => keyOf(row),
  ns: ({ row }: ModuleLine) => ns(row),
});

const lineOf = (row: ModuleRow): ModuleLine => ({ row, key: 0, depth: 0, inside: 0, open: false });

/** Whether only graphs run the module: then none of it is on the host. */
const runsInGraphs = (row: ModuleRow): boolean =>
  row.host_total_ns === 0 && Boolean(row.device_total_ns || row.backward_device_ns);

/** The mean of a call in the forward pass; null where no call is recorded. */
const eachOf = (row: ModuleRow): number | null =>
  row.occurrences ? (row.device_total_ns || row.host_total_ns) / row.occurrences : null;

function Name({ line: { row, depth, inside, open } }: { line: ModuleLine }) {
  return (
    <Branch depth={depth} open={inside > 0 ? open : null}>
      <Middle name={row.name} />
      {row.instances > 1 && <span class="quiet">{counted(row.instances, "module")}</span>}
    </Branch>
  );
}
