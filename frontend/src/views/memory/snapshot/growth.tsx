/** How much more each line holds than in another snapshot of the run. */

import type { LineGrowth } from "../../../api.gen";
import { Chips } from "../../../components/chips";
import type { Column } from "../../../components/table";
import { change } from "../../../format";
import { TablePicture } from "../../table_picture";
import { nameOf } from "./choice";
import { keyOf, lineCell } from "./lines";
import type { SnapshotPart } from "./part";

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
      columns={COLUMNS}
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

const COLUMNS: readonly Column<LineGrowth>[] = [
  { id: "line", label: "Line", order: (row) => row.line, cell: lineCell },
  {
    id: "before",
    label: "Before",
    width: "80px",
    figures: { of: (row) => row.before_bytes, unit: "bytes", siblings: "bytes" },
  },
  {
    id: "now",
    label: "Now",
    width: "80px",
    figures: { of: (row) => row.after_bytes, unit: "bytes", siblings: "bytes" },
  },
  {
    id: "more",
    numeric: true,
    label: "Change",
    width: "88px",
    order: (row) => row.after_bytes - row.before_bytes,
    cell: (row) => change(row.before_bytes, row.after_bytes, "bytes"),
  },
];
