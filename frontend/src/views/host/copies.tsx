import type { CopyRow } from "../../api.gen";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { bytes, ns, rate } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sorting } from "../choices";
import { type HostPart, titleOf } from "../props";
import { perStep } from "./sites";

/** Copies by direction and kinds of memory. */
export function Copies({ result: { copies }, titles, tab, name }: HostPart) {
  return (
    <Picture
      title={titleOf({ titles }, "copies")}
      sub="a step"
      name={`copies ${name}`}
      drawn={false}
      table={() => tableOf(copies)}
      link={() => tab.address()}
    >
      <Table
        label="Copies"
        columns={columnsOf(tab.meanings)}
        rows={copies}
        rowKey={(row) => [row.direction, row.source, row.target].join()}
        {...sorting(tab, "copies")}
      />
    </Picture>
  );
}

const columnsOf = (meanings: Meanings): Column<CopyRow>[] => [
  {
    id: "copy",
    label: "Copy",
    order: (row) => row.direction,
    cell: (row) => (
      <span
        data-hint={[row.direction, row.op, row.pageable ? meanings.metric("pageable_copy").meaning : null]
          .filter(Boolean)
          .join("\n")}
      >
        {row.source} to {row.target}
        {row.op && <span class="faint">, {row.op}</span>}
      </span>
    ),
  },
  {
    id: "count",
    label: "Count",
    width: "48px",
    numeric: true,
    order: (row) => row.count,
    cell: (row) => perStep(row.count),
  },
  {
    id: "bytes",
    label: "Bytes",
    width: "64px",
    numeric: true,
    order: (row) => row.bytes,
    cell: (row) => bytes(row.bytes),
  },
  {
    id: "rate",
    ...columnHead(meanings, "copy_rate"),
    width: "76px",
    numeric: true,
    order: (row) => row.bytes_per_second,
    cell: (row) => rate(row.bytes_per_second),
  },
  {
    id: "time",
    label: "Time",
    width: "64px",
    numeric: true,
    order: (row) => row.total_ns,
    cell: (row) => ns(row.total_ns),
  },
  {
    id: "hidden",
    ...columnHead(meanings, "copy_hidden_ns"),
    width: "64px",
    numeric: true,
    order: (row) => row.hidden_ns,
    cell: (row) => ns(row.hidden_ns),
  },
  {
    id: "blocked",
    ...columnHead(meanings, "copy_blocked_ns"),
    width: "64px",
    numeric: true,
    order: (row) => row.blocked_ns,
    cell: (row) => ns(row.blocked_ns),
  },
];

function tableOf(rows: readonly CopyRow[]) {
  const times = ["Time", "Hidden", "Blocked"].map((label) => ({ label, unit: "ns" as const }));
  return {
    columns: [
      { label: "Direction" },
      { label: "From" },
      { label: "To" },
      { label: "Op" },
      { label: "Count", unit: "number" as const },
      { label: "Bytes", unit: "bytes" as const },
      { label: "Rate", unit: "bytes_per_second" as const },
      ...times,
    ],
    rows: rows.map((row) => [
      row.direction,
      row.source,
      row.target,
      row.op,
      row.count,
      row.bytes,
      row.bytes_per_second,
      row.total_ns,
      row.hidden_ns,
      row.blocked_ns,
    ]),
  };
}
