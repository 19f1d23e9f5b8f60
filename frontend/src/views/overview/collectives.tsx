/**
 * What ranks exchange in a step: which collectives, how many bytes, and for how long nothing computes at the same time.
 */

import type { CollectiveRow, Communication } from "../../api.gen";
import { totalsText } from "../../components/figures";
import { type Column, Table } from "../../components/table";
import { counted, DASH } from "../../format";
import type { Meanings } from "../../meanings";
import { readingOf, sorting } from "../choices";
import type { Tab } from "../props";

export function Collectives({ found, tab }: { found: Communication; tab: Tab }) {
  return (
    <section class="devices">
      <div class="head">
        <h2>What do the ranks exchange?</h2>
        <span class="sub">{totalsText(readingOf(tab))}; the most exposed first</span>
      </div>
      <Table
        label="Collectives"
        columns={columnsOf(tab.meanings)}
        rows={found.rows}
        rowKey={keyOf}
        {...sorting(tab, "collectives")}
      />
    </section>
  );
}

const keyOf = (row: CollectiveRow) => [row.kind, row.group, row.ranks, row.dtype].join();

const NO_TYPE = "The trace does not record the type of its elements.";
const NO_WAITS = "Without a GPU, waits for slower ranks cannot be estimated from one rank.";
const NO_GROUP = "The trace does not record the process group.";

function columnsOf(meanings: Meanings): Column<CollectiveRow>[] {
  const figure = (metric: string, of: (row: CollectiveRow) => number | null): Column<CollectiveRow> => {
    const { label, meaning, unit } = meanings.metric(metric);
    const siblings = unit === "ns" ? { siblings: "time" } : {};
    return { id: metric, label, meaning, width: "112px", figures: { of, unit, adds: "step", ...siblings } };
  };
  const group = meanings.metric("collective_group");
  return [
    { id: "kind", label: "Collective", cell: (row) => row.label, order: (row) => row.label },
    {
      id: "dtype",
      label: "Type",
      width: "96px",
      cell: (row) => row.dtype ?? DASH,
      missing: NO_TYPE,
      order: (row) => row.dtype,
    },
    {
      id: "group",
      label: group.label,
      meaning: group.meaning,
      width: "140px",
      cell: groupText,
      missing: NO_GROUP,
      order: (row) => row.group,
    },
    figure("collective_count", (row) => row.count),
    figure("collective_bytes", (row) => row.bytes),
    figure("collective_running_ns", (row) => row.running_ns),
    figure("collective_exposed_ns", (row) => row.exposed_ns),
    { ...figure("collective_wait_ns", (row) => row.wait_ns), missing: NO_WAITS },
  ];
}

function groupText({ group, ranks }: CollectiveRow): string {
  const known = [group, ranks === null ? null : counted(ranks, "rank")].filter((each) => each !== null);
  return known.length ? known.join(", ") : DASH;
}
