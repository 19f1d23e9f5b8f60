import type { CopyRow } from "../../api.gen";
import { totalsText } from "../../components/figures";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { columnHead, type Meanings } from "../../meanings";
import { readingOf, sorting } from "../choices";
import { type HostPart, titleOf } from "../props";

/** Copies by direction and kinds of memory. */
export function Copies({ result: { copies }, titles, tab, name }: HostPart) {
  return (
    <Picture
      title={titleOf({ titles }, "copies")}
      sub={totalsText(readingOf(tab))}
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
    figures: { of: (row) => row.count, unit: "number", adds: "step" },
  },
  {
    id: "bytes",
    label: "Bytes",
    width: "64px",
    figures: { of: (row) => row.bytes, unit: "bytes", adds: "step" },
  },
  {
    id: "rate",
    ...columnHead(meanings, "copy_rate"),
    width: "76px",
    figures: { of: (row) => row.bytes_per_second, unit: "bytes_per_second" },
  },
  {
    id: "time",
    label: "Time",
    width: "64px",
    figures: { of: (row) => row.total_ns, unit: "ns", adds: "step", siblings: "time" },
  },
  {
    id: "hidden",
    ...columnHead(meanings, "copy_hidden_ns"),
    width: "64px",
    figures: { of: (row) => row.hidden_ns, unit: "ns", adds: "step", siblings: "time" },
  },
  {
    id: "blocked",
    ...columnHead(meanings, "copy_blocked_ns"),
    width: "64px",
    figures: { of: (row) => row.blocked_ns, unit: "ns", adds: "step", siblings: "time" },
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
