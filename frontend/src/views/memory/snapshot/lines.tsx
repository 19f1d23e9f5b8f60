/** Which lines hold memory, how long their allocations live, and how much more each holds than in another snapshot. */

import type { LineGrowth, LineRow } from "../../../api.gen";
import { Chips } from "../../../components/chips";
import type { Column } from "../../../components/table";
import { change } from "../../../format";
import { figureColumn, TablePicture } from "../../table_picture";
import { nameOf, type SnapshotPart } from "./choice";

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

const keyOf = ({ line, function: made }: Pick<LineRow, "line" | "function">): string => `${line} ${made}`;

const lineCell = ({ line, function: made }: Pick<LineRow, "line" | "function">) => {
  const words = line === null ? "not recorded" : made === null || made === line ? line : `${line} ${made}`;
  return <span data-hint={words}>{words}</span>;
};

const COLUMNS: readonly Column<LineRow>[] = [
  { id: "line", label: "Line", order: (row) => row.line, cell: lineCell },
  {
    ...figureColumn("peak", "Peak", 88, "bytes", (row) => row.bytes, { siblings: "bytes" }),
    meaning: "In use when most is.",
  },
  {
    ...figureColumn("end", "End", 80, "bytes", (row) => row.end_bytes, { siblings: "bytes" }),
    meaning: "In use when the snapshot was made.",
  },
  {
    ...figureColumn("made", "Allocated", 72, "count", (row) => row.made_count),
    meaning: "Allocations since the oldest entry, also those that are freed again.",
  },
  {
    ...figureColumn("life", "Lifetime", 72, "ns", (row) => (row.lifetime_us === null ? null : 1_000 * row.lifetime_us)),
    meaning: "The mean of those allocations that are freed again.",
    missing: "None of its allocations was freed while entries were recorded.",
  },
];

const NONE = "none";

export function Growth({ page: { growth }, entry, tab, name }: SnapshotPart) {
  const others = tab.index.snapshots.filter(({ id, run }) => id !== entry.id && run === entry.run);
  if (others.length === 0) return null;
  const since = others.find(({ id }) => id === tab.state.since);
  return (
    <TablePicture
      title={since ? `What has grown since ${nameOf(since)}?` : "What has grown?"}
      sub={growth ? `${change(0, growth.more_bytes, "bytes")} in use` : undefined}
      name={`growth ${name}`}
      label="Growth by line"
      columns={GROWTH_COLUMNS}
      rows={growth?.lines ?? []}
      rowKey={keyOf}
      maxRows={12}
      empty={since ? "Each line holds as much as there." : "Choose a snapshot to compare with."}
      order={["snapshot_growth", "-more"]}
      tab={tab}
      above={
        <Chips
          label="Compare with"
          name="Since"
          chosen={since?.id ?? NONE}
          choose={(id) => tab.update({ since: id === NONE ? null : id })}
          options={[{ id: NONE, label: "none" }, ...others.map((each) => ({ id: each.id, label: nameOf(each) }))]}
        />
      }
    />
  );
}

const GROWTH_COLUMNS: readonly Column<LineGrowth>[] = [
  { id: "line", label: "Line", order: (row) => row.line, cell: lineCell },
  figureColumn("before", "Before", 80, "bytes", (row) => row.before_bytes, { siblings: "bytes" }),
  figureColumn("now", "Now", 80, "bytes", (row) => row.after_bytes, { siblings: "bytes" }),
  {
    id: "more",
    numeric: true,
    label: "Change",
    width: "88px",
    order: (row) => row.after_bytes - row.before_bytes,
    cell: (row) => change(row.before_bytes, row.after_bytes, "bytes"),
  },
];
