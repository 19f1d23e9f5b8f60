/** Which lines hold memory, and how long their allocations live. */

import type { LineRow } from "../../../api.gen";
import type { Column } from "../../../components/table";
import { TablePicture } from "../../table_picture";
import type { SnapshotPart } from "./part";

export function Lines({ device, tab, name }: SnapshotPart) {
  return (
    <TablePicture
      title="Which lines hold memory?"
      name={`lines ${name}`}
      label="Lines"
      columns={COLUMNS}
      rows={device.peak_by_line}
      rowKey={keyOf}
      maxRows={12}
      empty="Nothing was allocated."
      order={["snapshot_lines", "-peak"]}
      tab={tab}
    />
  );
}

export const keyOf = ({ line, function: made }: Pick<LineRow, "line" | "function">): string => `${line} ${made}`;

export const lineCell = ({ line, function: made }: Pick<LineRow, "line" | "function">) => {
  const words = line === null ? "not recorded" : made === null || made === line ? line : `${line} ${made}`;
  return <span data-hint={words}>{words}</span>;
};

const COLUMNS: readonly Column<LineRow>[] = [
  { id: "line", label: "Line", order: (row) => row.line, cell: lineCell },
  {
    id: "peak",
    label: "Peak",
    meaning: "In use when most is.",
    width: "88px",
    figures: { of: (row) => row.bytes, unit: "bytes", siblings: "bytes" },
  },
  {
    id: "end",
    label: "End",
    meaning: "In use when the snapshot was made.",
    width: "80px",
    figures: { of: (row) => row.end_bytes, unit: "bytes", siblings: "bytes" },
  },
  {
    id: "made",
    label: "Allocated",
    meaning: "Allocations since the oldest entry, also those that are freed again.",
    width: "72px",
    figures: { of: (row) => row.made_count, unit: "count" },
  },
  {
    id: "life",
    label: "Lifetime",
    meaning: "The mean of those allocations that are freed again.",
    width: "72px",
    figures: { of: (row) => (row.lifetime_us === null ? null : 1_000 * row.lifetime_us), unit: "ns" },
    missing: "None of its allocations was freed while entries were recorded.",
  },
];
