/** What ranks exchange in a step: which collectives, how many bytes, and how long nothing computes beside them. */

import { useState } from "preact/hooks";
import type { CollectiveRow, Communication } from "../api.gen";
import { type Column, Table } from "../components/table";
import { bytes, counted, DASH, ns, text } from "../format";
import type { Meanings } from "../meanings";

export function Collectives({ found, meanings }: { found: Communication; meanings: Meanings }) {
  const [sort, setSort] = useState<string | undefined>();
  return (
    <section class="devices">
      <div class="head">
        <h2>What ranks exchange in a step</h2>
        <span class="sub">the most exposed first; its card shows the longest ranges in the timeline</span>
      </div>
      <Table
        label="Collectives of the mean step"
        columns={columnsOf(meanings)}
        rows={found.rows}
        rowKey={keyOf}
        sort={sort}
        onSort={setSort}
      />
    </section>
  );
}

const keyOf = (row: CollectiveRow) => [row.kind, row.group, row.ranks, row.dtype].join();

function columnsOf(meanings: Meanings): Column<CollectiveRow>[] {
  const figure = (
    metric: string,
    cell: (row: CollectiveRow) => string,
    order: (row: CollectiveRow) => number | null,
  ): Column<CollectiveRow> => {
    const { label, meaning } = meanings.metric(metric);
    return { id: metric, label, meaning, numeric: true, width: "112px", cell, order };
  };
  const group = meanings.metric("collective_group");
  return [
    { id: "kind", label: "Collective", cell: (row) => row.label, order: (row) => row.label },
    { id: "dtype", label: "Type", width: "96px", cell: (row) => row.dtype ?? DASH, order: (row) => row.dtype },
    {
      id: "group",
      label: group.label,
      meaning: group.meaning,
      width: "140px",
      cell: groupText,
      order: (row) => row.group,
    },
    figure(
      "collective_count",
      (row) => text(row.count, "number"),
      (row) => row.count,
    ),
    figure(
      "collective_bytes",
      (row) => bytes(row.bytes),
      (row) => row.bytes,
    ),
    figure(
      "collective_running_ns",
      (row) => ns(row.running_ns),
      (row) => row.running_ns,
    ),
    figure(
      "collective_exposed_ns",
      (row) => ns(row.exposed_ns),
      (row) => row.exposed_ns,
    ),
    figure(
      "collective_wait_ns",
      (row) => ns(row.wait_ns),
      (row) => row.wait_ns,
    ),
  ];
}

function groupText({ group, ranks }: CollectiveRow): string {
  const known = [group, ranks === null ? null : counted(ranks, "rank")].filter((each) => each !== null);
  return known.length ? known.join(", ") : DASH;
}
