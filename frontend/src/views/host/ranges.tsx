import { useMemo, useState } from "preact/hooks";
import type { RangeRow } from "../../api.gen";
import { toggled } from "../../components/legend";
import type { Column } from "../../components/table";
import { grouped } from "../../lists";
import type { Meanings } from "../../meanings";
import { totalsOf } from "../choices";
import type { HostPart } from "../props";
import { Branch, figuresOf, TablePicture, timesOf } from "../table_picture";

/** With more ranges than this the tree is folded initially, to be read branch by branch. */
const AT_ONCE = 12;

/** Named ranges as they are nested, with the time of the host and the GPU in each. */
export function Ranges({ result, tab, name }: HostPart) {
  const { ranges } = result;
  const [open, setOpen] = useState(() => openAtFirst(ranges, AT_ONCE));
  const lines = useMemo(() => linesOf(ranges, open), [ranges, open]);
  if (ranges.length === 0) return null;
  return (
    <TablePicture
      title="Time of named ranges"
      sub={`${totalsOf(tab)}, all threads`}
      name={`ranges ${name}`}
      label="Named ranges"
      columns={columnsOf(tab.meanings, result.device !== null)}
      file={[{ label: "Launches", unit: "number", of: ({ row }) => row.launches }]}
      rows={lines}
      saved={() => linesOf(ranges, openAtFirst(ranges, Infinity))}
      rowKey={(line) => line.key}
      order="ranges"
      branch={(line) => ({ level: line.depth + 1, open: line.inside > 0 ? line.open : undefined })}
      onChoose={(line) => line.inside > 0 && setOpen(toggled(line.key, open))}
      maxRows={AT_ONCE}
      tab={tab}
    />
  );
}

const TIME = timesOf("step");

function columnsOf(meanings: Meanings, onDevice: boolean): Column<RangeLine>[] {
  const figure = figuresOf<RangeLine>(meanings);
  return [
    {
      id: "range",
      label: "Range",
      cell: (line) => <Name line={line} />,
      file: [{ label: "Range", of: ({ row }) => row.path.join(" / ") }],
    },
    {
      ...figure("count", "range_count", 50, ({ row }) => begun(row), { adds: "step" }),
      missing: "It began before the steps, and is open in them.",
    },
    figure("host", "range_host_ns", 68, ({ row }) => row.host_ns, TIME),
    figure("self", "range_self_ns", 68, ({ row }) => row.self_ns, TIME),
    ...(onDevice
      ? [
          figure("device", "range_device_ns", 72, ({ row }) => row.device_ns, TIME),
          figure("idle", "range_idle_ns", 68, ({ row }) => row.idle_ns, TIME),
        ]
      : []),
  ];
}

/** The number of ranges that began in the steps; null where all of its time belongs to one that began before them. */
const begun = (row: RangeRow): number | null => (row.count === 0 ? null : row.count);

function Name({ line }: { line: RangeLine }) {
  return (
    <Branch depth={line.depth} open={line.inside > 0 ? line.open : null} hint={line.row.path.join("\n")}>
      <span class="clip">{line.name}</span>
    </Branch>
  );
}

/** Converts ranges with their paths to the rows of a tree that shows only opened branches. */
interface RangeLine {
  row: RangeRow;
  key: string;
  name: string;
  depth: number;
  /** How many ranges are directly below it. */
  inside: number;
  open: boolean;
}

const BETWEEN = "\n";

const keyOf = (path: readonly string[]): string => path.join(BETWEEN);

/** The ranges within a range, longest first, each followed by its contents where it is open. */
export function linesOf(rows: readonly RangeRow[], open: ReadonlySet<string>): RangeLine[] {
  const paths = new Set(rows.map(({ path }) => keyOf(path)));
  const inside = grouped(rows, ({ path }) => nearestAround(path, paths));
  const lines: RangeLine[] = [];
  const add = (around: string, depth: number) => {
    for (const row of [...(inside.get(around) ?? [])].sort((a, b) => b.host_ns - a.host_ns)) {
      const key = keyOf(row.path);
      lines.push({
        row,
        key,
        depth,
        name: row.path[row.path.length - 1] ?? "",
        inside: inside.get(key)?.length ?? 0,
        open: open.has(key),
      });
      if (open.has(key)) add(key, depth + 1);
    }
  };
  add("", 0);
  return lines;
}

/** The nearest enclosing range that has a row; "" where there is none. */
function nearestAround(path: readonly string[], paths: ReadonlySet<string>): string {
  for (let length = path.length - 1; length > 0; length--) {
    const key = keyOf(path.slice(0, length));
    if (paths.has(key)) return key;
  }
  return "";
}

/** The rows that are open initially: all, where they are few enough to be read at once, else none. */
export function openAtFirst(rows: readonly RangeRow[], most: number): ReadonlySet<string> {
  return new Set(rows.length <= most ? rows.map(({ path }) => keyOf(path)) : []);
}
