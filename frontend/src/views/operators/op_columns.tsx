/** Columns of the table of ops: labels and meanings from the catalogue, widths and rendering from here. */

import type { OperatorRow } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { Middle } from "../../components/middle";
import type { Column } from "../../components/table";
import { DASH, percent } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { figuresOf } from "../table_picture";
import { type Grouping, knowsMemory, shortKey, tensorShares, wholeKey } from "./tables";

/** The width of a column of times or bytes, px. */
const WIDTH = 84;

export function columnsOf(
  grouping: Grouping,
  rows: readonly OperatorRow[],
  meanings: Meanings,
  hasDevice: boolean,
  compared: boolean,
): Column<OperatorRow>[] {
  const ownOf = (row: OperatorRow) => (hasDevice ? (row.device_self_ns ?? 0) : row.host_self_ns + row.runtime_ns);
  const longest = rows.reduce((most, row) => Math.max(most, ownOf(row)), 1);
  const figure = figuresOf<OperatorRow>(meanings);
  const time = (id: string, metric: string, of: (row: OperatorRow) => number | null) =>
    figure(id, metric, WIDTH, of, { adds: "recording", siblings: "time" });
  const onHost = (id: string, metric: string, of: (row: OperatorRow) => number): Column<OperatorRow> => ({
    ...time(id, metric, (row) => (runsInGraphs(row) ? null : of(row))),
    missing: IN_GRAPHS,
  });
  const bytes = (id: string, metric: string, of: (row: OperatorRow) => number | null, extra: boolean) => ({
    ...figure(id, metric, WIDTH, of, { adds: "recording", siblings: "bytes" }),
    extra,
  });
  const narrow = grouping.id !== "name" || compared; // the second key or the other span takes the room
  const host = [
    onHost("host_total", "op_host_total", (row) => row.host_total_ns),
    onHost("host_self", "op_host_self", (row) => row.host_self_ns),
  ];
  const device: Column<OperatorRow>[] = [
    { ...onHost("runtime", "op_runtime", (row) => row.runtime_ns), extra: true },
    time("device_total", "op_device_total", (row) => row.device_total_ns),
    {
      ...time("device_self", "op_device_self", (row) => row.device_self_ns),
      width: "150px",
      cell: (row, written) => <Bar share={ownOf(row) / longest} colour="kernel" written={written} />,
    },
    { ...figure("launches", "op_launches", 72, (row) => row.launches, { adds: "recording" }), extra: narrow },
    {
      id: "tensor",
      ...columnHead(meanings, "op_tensor_share"),
      width: "86px",
      numeric: true,
      order: (row) => tensorShares(row)?.[0] ?? null,
      file: [],
      cell: (row) => tensorText(row),
      extra: narrow,
      missing: "No kernel of its own or of the ops inside it, or no tensor cores.",
    },
    time("idle", "op_idle", (row) => row.idle_ns),
  ];
  const memory = knowsMemory(rows)
    ? [
        bytes("allocated", "op_allocated", (row) => row.allocated_bytes, narrow),
        bytes("allocated_self", "op_allocated_self", (row) => row.allocated_self_bytes, true),
      ]
    : [];
  return [
    { id: "name", label: "Op", least: "150px", order: (row) => row.name, cell: (row) => <Middle name={row.name} /> },
    ...(grouping.id !== "name" ? [secondOf(grouping)] : []),
    {
      ...figure("calls", "op_calls", 64, (row) => (runsInGraphs(row) ? null : row.calls), { adds: "recording" }),
      missing: IN_GRAPHS,
    },
    ...(hasDevice
      ? [...host, ...device]
      : [
          host[0]!,
          {
            ...host[1]!,
            width: "150px",
            cell: (row: OperatorRow, written: string) => (
              <Bar share={ownOf(row) / longest} colour="cpu" written={written} />
            ),
          },
        ]),
    ...memory,
  ];
}

export const IN_GRAPHS = "It runs in captured graphs, where the host calls no op. A note says what it is named after.";

/** Whether only graphs run the op: then none of it is on the host. */
const runsInGraphs = (row: OperatorRow): boolean =>
  row.calls === 0 && row.host_total_ns === 0 && (row.launches ?? 0) > 0;

function Bar({ share, colour, written }: { share: number; colour: string; written: string }) {
  return (
    <span class="total">
      <InlineBar segments={[{ share, colour }]} />
      {written}
    </span>
  );
}

const secondOf = (grouping: Grouping): Column<OperatorRow> => ({
  id: "second",
  label: grouping.second,
  width: grouping.id === "phase" ? "110px" : grouping.id === "module" ? "190px" : "25%",
  order: (row) => row.key,
  cell: ({ key }) => (key === null ? DASH : <span data-hint={wholeKey(grouping, key)}>{shortKey(grouping, key)}</span>),
  missing: grouping.id === "shape" ? "The op has no inputs with shapes." : "Nothing of this is recorded around the op.",
});

/** "63 %", or "63 – 71 %" where it is not known of some kernels. */
export function tensorText(row: Parameters<typeof tensorShares>[0]): string {
  const shares = tensorShares(row);
  if (shares === null) return DASH;
  const [low, high] = shares.map((share) => percent(share)) as [string, string];
  return low === high ? low : `${low.replace(/\u00a0?%$/, "")}–${high}`;
}
