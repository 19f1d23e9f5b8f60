import type { CopyRow } from "../../api.gen";
import { totalsText } from "../../components/figures";
import { type Column, fileFields } from "../../components/table";
import type { Meanings } from "../../meanings";
import { readingOf } from "../choices";
import { type HostPart, titleOf } from "../props";
import { figuresOf, TablePicture } from "../table_picture";

/** Copies by direction and kinds of memory. */
export function Copies({ result: { copies }, titles, tab, name }: HostPart) {
  return (
    <TablePicture
      title={titleOf({ titles }, "copies")}
      sub={totalsText(readingOf(tab))}
      name={`copies ${name}`}
      label="Copies"
      columns={columnsOf(tab.meanings)}
      rows={copies}
      rowKey={(row) => [row.direction, row.source, row.target].join()}
      order="copies"
      tab={tab}
    />
  );
}

const TIME = { adds: "step", siblings: "time" } as const;

function columnsOf(meanings: Meanings): Column<CopyRow>[] {
  const figure = figuresOf<CopyRow>(meanings);
  const hintOf = ({ direction, op, pageable }: CopyRow) =>
    [direction, op, pageable ? meanings.metric("pageable_copy").meaning : null].filter(Boolean).join("\n");
  return [
    {
      id: "copy",
      label: "Copy",
      order: (row) => row.direction,
      cell: (row) => (
        <span data-hint={hintOf(row)}>
          {row.source} to {row.target}
          {row.op && <span class="faint">, {row.op}</span>}
        </span>
      ),
      file: fileFields<CopyRow>({ direction: "Direction", source: "From", target: "To", op: "Op" }),
    },
    { id: "count", label: "Count", width: "48px", figures: { of: (row) => row.count, unit: "number", adds: "step" } },
    { id: "bytes", label: "Bytes", width: "64px", figures: { of: (row) => row.bytes, unit: "bytes", adds: "step" } },
    figure("rate", "copy_rate", 76, (row) => row.bytes_per_second),
    { id: "time", label: "Time", width: "64px", figures: { of: (row) => row.total_ns, unit: "ns", ...TIME } },
    figure("hidden", "copy_hidden_ns", 64, (row) => row.hidden_ns, TIME),
    figure("blocked", "copy_blocked_ns", 64, (row) => row.blocked_ns, TIME),
  ];
}
