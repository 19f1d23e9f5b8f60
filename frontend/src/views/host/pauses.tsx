import { rangeInTimeline } from "../../address/timeline";
import type { Pause } from "../../api.gen";
import { totalsText } from "../../components/figures";
import { type Column, fileFields } from "../../components/table";
import type { Meanings } from "../../meanings";
import { readingOf } from "../choices";
import { type HostPart, titleOf } from "../props";
import { figuresOf, TablePicture } from "../table_picture";

/** Rare long stops of the host that no op explains. */
export function Pauses({ result: { pauses }, titles, tab, name }: HostPart) {
  return (
    <TablePicture
      title={titleOf({ titles }, "pauses")}
      sub={totalsText(readingOf(tab))}
      name={`pauses ${name}`}
      label="Pauses of the host"
      columns={columnsOf(tab.meanings)}
      rows={pauses}
      rowKey={(row) => `${row.cause} ${row.name ?? ""}`}
      mark={["pauses", (row) => String(row.worst_start_ns)]}
      order="pauses"
      tab={tab}
      onChoose={(row) =>
        tab.update(rangeInTimeline({ step: row.worst_step, start_ns: row.worst_start_ns, end_ns: row.worst_end_ns }))
      }
    />
  );
}

type Causes = Readonly<Record<string, string>>;

/** A cause that the trace does not name is given from the pattern, if from anything. */
const causeOf = ({ cause, sure, name }: Pause, causes: Causes): string =>
  (causes[cause] ?? cause) + (sure || name === null ? "" : ", by its pattern");

function columnsOf(meanings: Meanings): Column<Pause>[] {
  const figure = figuresOf<Pause>(meanings);
  const idleOf = (row: Pause) => row.idle_ns;
  return [
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
      file: [{ label: "Cause", of: (row) => causeOf(row, meanings.causes) }, ...fileFields<Pause>({ name: "Name" })],
    },
    figure("count", "pause_count", 52, (row) => row.count, { adds: "recording" }),
    figure("total", "pause_total_ns", 76, (row) => row.total_ns, { adds: "recording" }),
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
      figures: { of: idleOf, unit: "ns", adds: "step" },
      file: [{ label: "GPU idle a step", unit: "ns", of: idleOf }],
    },
  ];
}
