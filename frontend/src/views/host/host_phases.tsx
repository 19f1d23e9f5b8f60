import type { HostResult, PhaseRow } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { totalsText } from "../../components/figures";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { columnHead, type Meanings } from "../../meanings";
import { readingOf, sorting } from "../choices";
import type { HostPart } from "../props";

/** What the host spends in each phase, where there is no GPU to wait for. */
export function HostPhases({ result, tab, name }: HostPart) {
  const rows = result.phases.filter((phase) => phase.host_ns > 0);
  if (rows.length === 0) return null;
  return (
    <Picture
      title="Which phase takes the step?"
      sub={totalsText(readingOf(tab))}
      name={`phases ${name}`}
      drawn={false}
      table={() => tableOf(rows)}
      link={() => tab.address()}
    >
      <Table
        label="Phases of the mean step"
        columns={columnsOf(rows, result, tab.meanings)}
        rows={rows}
        rowKey={(row) => row.phase}
        {...sorting(tab, "phases")}
      />
    </Picture>
  );
}

function columnsOf(
  rows: readonly PhaseRow[],
  { mean_step_ns: whole }: HostResult,
  meanings: Meanings,
): Column<PhaseRow>[] {
  const longest = rows.reduce((most, row) => Math.max(most, row.host_ns), 1);
  return [
    { id: "phase", label: "Phase", width: "200px", order: (row) => row.label, cell: (row) => row.label },
    {
      id: "bar",
      label: "",
      cell: (row) => (
        <InlineBar
          segments={[{ share: row.host_ns / longest, colour: row.phase === "data_loading" ? "data" : "cpu" }]}
        />
      ),
    },
    {
      id: "host",
      label: "Host",
      width: "90px",
      figures: { of: (row) => row.host_ns, unit: "ns", adds: "step" },
    },
    {
      id: "share",
      ...columnHead(meanings, "phase_share"),
      width: "70px",
      figures: { of: (row) => (whole ? row.host_ns / whole : null), unit: "fraction" },
    },
  ];
}

const tableOf = (rows: readonly PhaseRow[]) => ({
  columns: [{ label: "Phase" }, { label: "Host", unit: "ns" as const }],
  rows: rows.map((row) => [row.label, row.host_ns]),
});
