import { rangeInTimeline } from "../../address/timeline";
import type { Pause } from "../../api.gen";
import { totalsText } from "../../components/figures";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { columnHead, type Meanings } from "../../meanings";
import { marking, readingOf, sorting } from "../choices";
import { type HostPart, titleOf } from "../props";

/** Rare long stops of the host that no op explains. */
export function Pauses({ result: { pauses }, titles, tab, name }: HostPart) {
  return (
    <Picture
      title={titleOf({ titles }, "pauses")}
      sub={totalsText(readingOf(tab))}
      name={`pauses ${name}`}
      drawn={false}
      table={() => tableOf(pauses, tab.meanings.causes)}
      link={() => tab.address()}
    >
      <Table
        label="Pauses of the host"
        columns={columnsOf(tab.meanings)}
        rows={pauses}
        rowKey={(row) => `${row.cause} ${row.name ?? ""}`}
        {...marking(
          tab.state,
          "pauses",
          pauses,
          (row) => String(row.worst_start_ns),
          (row) => `${row.cause} ${row.name ?? ""}`,
        )}
        {...sorting(tab, "pauses")}
        onChoose={(row) =>
          tab.update(rangeInTimeline({ step: row.worst_step, start_ns: row.worst_start_ns, end_ns: row.worst_end_ns }))
        }
      />
    </Picture>
  );
}

type Causes = Readonly<Record<string, string>>;

/** A cause that the trace does not name is given from the pattern, if from anything. */
const causeOf = ({ cause, sure, name }: Pause, causes: Causes): string =>
  (causes[cause] ?? cause) + (sure || name === null ? "" : ", by its pattern");

const columnsOf = (meanings: Meanings): Column<Pause>[] => [
  {
    id: "cause",
    label: "Cause",
    order: (row) => causeOf(row, meanings.causes),
    cell: (row) => (
      <span data-hint={row.name ?? ""}>
        {causeOf(row, meanings.causes)}
        {row.name && <span class="faint"> {row.name}</span>}
      </span>
    ),
  },
  {
    id: "count",
    ...columnHead(meanings, "pause_count"),
    width: "52px",
    figures: { of: (row) => row.count, unit: "count", adds: "recording" },
  },
  {
    id: "total",
    ...columnHead(meanings, "pause_total_ns"),
    width: "76px",
    figures: { of: (row) => row.total_ns, unit: "ns", adds: "recording" },
  },
  {
    id: "longest",
    label: "Longest",
    width: "76px",
    figures: { of: (row) => row.worst_end_ns - row.worst_start_ns, unit: "ns" },
  },
  {
    id: "idle",
    label: "GPU idle",
    width: "76px",
    figures: { of: (row) => row.idle_ns, unit: "ns", adds: "step" },
  },
];

function tableOf(rows: readonly Pause[], causes: Causes) {
  const times = ["Total", "Longest", "GPU idle a step"].map((label) => ({ label, unit: "ns" as const }));
  return {
    columns: [{ label: "Cause" }, { label: "Name" }, { label: "Count", unit: "count" as const }, ...times],
    rows: rows.map((row) => [
      causeOf(row, causes),
      row.name,
      row.count,
      row.total_ns,
      row.worst_end_ns - row.worst_start_ns,
      row.idle_ns,
    ]),
  };
}
