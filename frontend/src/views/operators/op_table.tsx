/** The table of ops. Labels and meanings of its columns come from the catalogue, widths and rendering from here. */

import { useMemo } from "preact/hooks";
import type { OperatorRow } from "../../api.gen";
import { GroupedFilter, Unmatched } from "../../components/filter";
import { Remark } from "../../components/sentence";
import type { Column, Foot } from "../../components/table";
import { counted, DASH, percent } from "../../format";
import { largestOf } from "../../lists";
import { columnHead, type Meanings } from "../../meanings";
import { totalsOf } from "../choices";
import { comparedColumns, OnlyThere } from "../compare/compared_columns";
import { figuresOf, Middle, TablePicture, timesOf } from "../table_picture";
import { comparedOps } from "./compared";
import {
  type Grouping,
  groupingOf,
  groupingsOf,
  keyOf,
  knowsMemory,
  knowsWhere,
  matching,
  type OperatorPart,
  restOf,
  shortKey,
  tableOf,
  tensorShares,
  wholeKey,
} from "./tables";

/** Ops by time, split as the reader chooses. */
export function OpTable(part: OperatorPart) {
  const { result, titles, tab, name } = part;
  const grouping = groupingOf(result, tab.state.by);
  const where = knowsWhere(result) ? (tab.state.work ?? "ran") : "ran";
  const table = tableOf(result, grouping.id, where);
  const other = comparedOps(part, grouping, where);
  const typed = tab.state.ops ?? "";
  const rows = useMemo(() => matching(table.rows, typed), [table, typed]);
  const opened = tab.state.op;
  const change = (ops: string | null) => tab.update({ ops });
  return (
    <TablePicture
      title={titles.operators ?? "Which ops take the time?"}
      sub={totalsOf(tab)}
      name={`ops by ${grouping.id} ${name}`}
      tools={
        <GroupedFilter
          groups={{
            label: "Tell ops of one name apart by",
            chosen: grouping.id,
            options: groupingsOf(result),
            choose: (by) => tab.update({ by }),
          }}
          filter={{
            label: "Filter ops",
            placeholder: "Filter names",
            ...{ typed, change, shown: rows.length, all: table.rows.length, folded: table.rest.rows },
          }}
        />
      }
      label={grouping.id === "name" ? "Ops" : `Ops by ${grouping.label.toLowerCase()}`}
      columns={[
        ...columnsOf(grouping, table.rows, tab.meanings, result.has_device, other !== null),
        ...(other ? comparedColumns(other.columns) : []),
      ]}
      rows={rows}
      rowKey={keyOf}
      mark={["operators", (row) => row.name]}
      maxRows={10}
      order={result.has_device ? ["operators", "-device_self"] : "operators"}
      tab={tab}
      onChoose={(row) => tab.update({ op: row.name === opened ? null : row.name })}
      chosen={opened === undefined ? undefined : rows.filter((row) => row.name === opened).map(keyOf)[0]}
      empty={typed ? <Unmatched typed={typed} change={change} /> : "No op begins in the steps."}
      foot={footOf(restOf(table, rows))}
    >
      {other && typed === "" && <OnlyThere {...other.only} />}
      <Remark phrase={titles.outside} />
    </TablePicture>
  );
}

/** The sum of the rows that are folded or filtered away, so that the columns of own times still add up to the whole. */
const footOf = (rest: ReturnType<typeof restOf>): Foot | false =>
  rest.rows > 0 && {
    name: `${counted(rest.rows, "more row")}`,
    cells: {
      calls: rest.calls,
      host_self: rest.host_self_ns,
      runtime: rest.runtime_ns,
      device_self: rest.device_self_ns,
      allocated_self: rest.allocated_self_bytes,
    },
  };

/** The width of a column of times or bytes, px. */
const WIDTH = 84;

function columnsOf(
  grouping: Grouping,
  rows: readonly OperatorRow[],
  meanings: Meanings,
  hasDevice: boolean,
  compared: boolean,
): Column<OperatorRow>[] {
  const ownOf = (row: OperatorRow) => (hasDevice ? (row.device_self_ns ?? 0) : row.host_self_ns + row.runtime_ns);
  const longest = largestOf(rows, ownOf);
  const figure = figuresOf<OperatorRow>(meanings);
  const time = (id: string, metric: string, of: (row: OperatorRow) => number | null) =>
    figure(id, metric, WIDTH, of, timesOf("recording"));
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
      bar: (row) => [{ share: ownOf(row) / longest, colour: "kernel" }],
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
            bar: (row: OperatorRow) => [{ share: ownOf(row) / longest, colour: "cpu" }],
          },
        ]),
    ...memory,
  ];
}

export const IN_GRAPHS = "It runs in captured graphs, where the host calls no op. A note says what it is named after.";

/** Whether only graphs run the op: then none of it is on the host. */
const runsInGraphs = (row: OperatorRow): boolean =>
  row.calls === 0 && row.host_total_ns === 0 && (row.launches ?? 0) > 0;

const secondOf = (grouping: Grouping): Column<OperatorRow> => ({
  id: "second",
  label: grouping.second,
  width: grouping.id === "phase" ? "110px" : grouping.id === "module" ? "190px" : "25%",
  order: (row) => row.key,
  cell: ({ key }) => (key === null ? DASH : shortKey(grouping, key)),
  hint: ({ key }) => key && wholeKey(grouping, key),
  missing: grouping.id === "shape" ? "The op has no inputs with shapes." : "Nothing of this is recorded around the op.",
});

/** "63 %", or "63 – 71 %" where it is not known of some kernels. */
export function tensorText(row: Parameters<typeof tensorShares>[0]): string {
  const shares = tensorShares(row);
  if (shares === null) return DASH;
  const [low, high] = shares.map((share) => percent(share)) as [string, string];
  return low === high ? low : `${low.replace(/\u00a0?%$/, "")}–${high}`;
}
