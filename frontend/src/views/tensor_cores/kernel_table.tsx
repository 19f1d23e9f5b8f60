import { sum } from "d3-array";
import { useMemo } from "preact/hooks";
import type { DeviceSplit, KernelRow, Phrase, Split } from "../../api.gen";
import { GroupedFilter, matchingRows, Unmatched } from "../../components/filter";
import { type Column, type Foot, fileFields } from "../../components/table";
import { counted } from "../../format";
import { largestOf } from "../../lists";
import { columnHead, type Meanings } from "../../meanings";
import { totalsOf } from "../choices";
import { DIFFERENCE_PX, differences } from "../compare/compared_columns";
import type { ViewPart } from "../props";
import { figureColumn, figuresOf, TablePicture, timesOf } from "../table_picture";
import { type Bin, binOf, binsOf, matrixUnits, shownBins } from "./bins";
import { fitted, KernelName, shortOf } from "./kernel_name";
import type { OtherSplit } from "./split";

interface KernelTableProps extends ViewPart {
  device: DeviceSplit;
  title: Phrase;
  off: ReadonlySet<string>;
  /** The same device in the span that is compared with. */
  other?: OtherSplit | null;
}

/** Titles of the groupings for which the server provides none. */
const GROUPS = { op: "ops", phase: "phases" } as const;

/** Kernel time by kernel, with how each uses tensor cores and which rule says so; or by op or phase, in four bins. */
export function KernelTable({ device, title, off, tab, name, other = null }: KernelTableProps) {
  const grouping = groupingOf(tab.state.by);
  const { id } = grouping;
  const typed = id === "phase" ? "" : (tab.state.kernel ?? "");
  const kernels = useMemo(() => filtered(device.kernels, typed, off), [device, typed, off]);
  const all = id === "name" ? [] : splitRows(device, id, tab.meanings.phases);
  const bins = shownBins(tab.meanings, off);
  const splits = matching(all, typed, bins, tab.meanings.kernel_bins.length);
  const change = (kernel: string | null) => tab.update({ kernel });
  const frame = {
    title: id === "name" ? title : `Which ${GROUPS[id]} run on ${matrixUnits(tab.meanings)}?`,
    sub: totalsOf(tab),
    name: `kernel time by ${grouping.label.toLowerCase()} ${name}`,
    order: ["sort", "-total"] as const,
    maxRows: 16,
    empty: typed ? <Unmatched typed={typed} change={change} /> : "No kernels.",
    tab,
  };
  const tools = (rows: { shown: number; all: number; folded: number }) => (
    <GroupedFilter
      groups={{
        label: "Group launches by",
        chosen: id,
        options: GROUPINGS,
        choose: (by) => tab.update({ by }),
      }}
      filter={
        id === "phase"
          ? null
          : { label: `Filter ${grouping.one} names`, placeholder: "Filter names", typed, change, ...rows }
      }
    />
  );
  if (id === "name")
    return (
      <TablePicture
        {...frame}
        label="Kernels"
        tools={tools({ shown: kernels.length, all: device.kernels.length, folded: device.more_kernels })}
        columns={(width) => [
          ...columns(device, other ? width - DIFFERENCE_PX : width, tab.meanings),
          ...difference(device, other),
        ]}
        rows={kernels}
        saved={() => device.kernels}
        rowKey={keyOf}
        mark={["kernels", (row) => row.name]}
        foot={footOf(device, kernels)}
      />
    );
  return (
    <TablePicture
      {...frame}
      label={`Kernel time by ${grouping.label.toLowerCase()}`}
      tools={tools({ shown: splits.length, all: all.length, folded: 0 })}
      columns={splitColumns(grouping, all, bins, device.total, tab.meanings)}
      rows={splits}
      rowKey={(row) => `${row.nameless} ${row.name}`}
      foot={splits.length < all.length && splitFoot({ grouping, all, rows: splits, bins, total: device.total })}
    />
  );
}

const keyOf = (row: KernelRow): string => `${row.bin} ${row.name}`;

const difference = (device: DeviceSplit, other: OtherSplit | null) =>
  differences(other, other?.device.kernels, {
    rows: device.kernels,
    keyOf,
    ns: (row) => row.total_ns,
    steps: [device.steps.length, other?.device.steps.length ?? 1],
  });

/** Rows of bins that are not hidden, whose names match the typed text. */
export const filtered = (rows: readonly KernelRow[], typed: string, off: ReadonlySet<string>): readonly KernelRow[] =>
  matchingRows(
    rows.filter((row) => !off.has(row.bin)),
    typed,
    (row) => [row.name, row.short],
  );

/** Widths of the columns next to the name, px; the name takes the rest. */
const CORES = 112;
const COUNT = 72;
const TOTAL = 178;
const SHARE = 64;

const COPY = 48;

/** The least width of a name, px. */
const NAME = 120;

function columns(device: DeviceSplit, width: number, meanings: Meanings): Column<KernelRow>[] {
  const room = Math.max(NAME, width - CORES - COUNT - TOTAL - SHARE - COPY);
  const longest = largestOf(device.kernels, (row) => row.total_ns);
  const figure = figuresOf<KernelRow>(meanings);
  return [
    {
      id: "name",
      label: "Kernel",
      cell: (row) => <KernelName name={row.name} shown={fitted(shortOf(row), room)} />,
      order: shortOf,
      file: fileFields<KernelRow>({ name: "Kernel" }),
    },
    {
      id: "cores",
      ...columnHead(meanings, "kernel_bin"),
      width: `${CORES}px`,
      hint: (row) => `${binOf(meanings, row.bin).meaning} ${row.reason}`,
      order: (row) => binOf(meanings, row.bin).answer,
      file: [
        { label: binOf(meanings, "tensor_core").label, of: (row) => binOf(meanings, row.bin).answer },
        ...fileFields<KernelRow>({ reason: "Why" }),
      ],
    },
    figure("count", "count", COUNT, (row) => row.count, { adds: "recording" }),
    {
      ...figure("total", "total_ns", TOTAL, (row) => row.total_ns, { adds: "recording" }),
      bar: (row) => [{ ...binOf(meanings, row.bin), share: row.total_ns / longest }],
    },
    figure("share", "share", SHARE, (row) => row.share),
  ];
}

/** The sum of the rows that are folded or filtered away, so that the column still adds up to the whole. */
function footOf(device: DeviceSplit, rows: readonly KernelRow[]): Foot | null {
  const hidden = device.kernels.length - rows.length + device.more_kernels;
  if (hidden === 0) return null;
  const all = sum(device.kernels, (row) => row.count) + device.more_count;
  const rest = device.total.kernel_ns - sum(rows, (row) => row.total_ns);
  return {
    name: counted(hidden, "more kernel"),
    cells: {
      count: all - sum(rows, (row) => row.count),
      total: rest,
      share: device.total.kernel_ns ? rest / device.total.kernel_ns : null,
    },
  };
}

interface Grouping {
  /** The value in the address, as in the GPU view. */
  id: "name" | "op" | "phase";
  label: string;
  /** What a row is. */
  one: string;
  meaning: string;
}

export const GROUPINGS: readonly [Grouping, ...Grouping[]] = [
  { id: "name", label: "Kernel", one: "kernel", meaning: "Launches of one kernel together." },
  { id: "op", label: "Op", one: "op", meaning: "Launches from one op together." },
  { id: "phase", label: "Phase", one: "phase", meaning: "Launches of forward, backward and optimizer." },
];

export const groupingOf = (id: string | undefined): Grouping =>
  GROUPINGS.find((each) => each.id === id) ?? GROUPINGS[0];

interface SplitRow {
  name: string;
  /** There is no name; `name` says why. */
  nameless: boolean;
  count: number;
  split: Split;
}

export function splitRows(device: DeviceSplit, id: "op" | "phase", labels: Meanings["phases"]): readonly SplitRow[] {
  if (id === "op")
    return device.ops.map(({ op, no_op, count, split }) => ({
      name: op ?? no_op ?? "",
      nameless: op === null,
      count,
      split,
    }));
  return device.phases.map(({ phase, count, split }) => ({
    name: labels[phase] ?? phase,
    nameless: phase === "unknown",
    count,
    split,
  }));
}

const timeIn = (bins: readonly Bin[], split: Split): number => sum(bins, (bin) => bin.of(split));

/** Rows that match the typed text, and have time in a bin that is shown. */
export function matching(
  rows: readonly SplitRow[],
  typed: string,
  bins: readonly Bin[],
  all: number,
): readonly SplitRow[] {
  const named = matchingRows(rows, typed, (row) => [row.name]);
  return bins.length === all ? named : named.filter((row) => timeIn(bins, row.split) > 0);
}

/** Widths of further columns, px; the others are those of the kernels. */
const TIME = 88;
const SPLIT_TOTAL = 230;

export function splitColumns(
  grouping: Grouping,
  all: readonly SplitRow[],
  bins: readonly Bin[],
  total: Split,
  meanings: Meanings,
): Column<SplitRow>[] {
  const longest = largestOf(all, (row) => row.split.kernel_ns);
  const figure = figuresOf<SplitRow>(meanings);
  return [
    {
      id: "name",
      label: grouping.label,
      order: (row) => row.name,
      cell: (row) => (
        <span data-hint={row.name} class={row.nameless ? "faint" : ""}>
          {row.name}
        </span>
      ),
    },
    figure("count", "count", COUNT, (row) => row.count, { adds: "recording" }),
    ...bins.map(
      (bin): Column<SplitRow> => ({
        ...figureColumn(bin.id, bin.short, TIME, "ns", (row) => bin.of(row.split), timesOf("recording")),
        meaning: `${bin.label}. ${bin.meaning}`,
        cell: (row, written) => <span class={bin.of(row.split) === 0 ? "faint" : ""}>{written}</span>,
        file: [],
      }),
    ),
    {
      ...figure("total", "shown_ns", SPLIT_TOTAL, (row) => timeIn(bins, row.split), timesOf("recording")),
      bar: ({ split }) => bins.map((bin) => ({ ...bin, share: bin.of(split) / longest })),
      file: [ALL, ...binsOf(meanings)].map(({ label, of }) => ({ label, unit: "ns", of: (row) => of(row.split) })),
    },
    {
      ...figure("share", "share", SHARE, (row) => shareOf(timeIn(bins, row.split), total)),
      file: [{ label: "Share", unit: "fraction", of: (row) => shareOf(row.split.kernel_ns, total) }],
    },
  ];
}

/** A saved file has all bins, whichever are hidden. */
const ALL = { label: "Total", of: (split: Split) => split.kernel_ns };

const shareOf = (ns: number, total: Split): number | null => (total.kernel_ns ? ns / total.kernel_ns : null);

interface FootProps {
  grouping: Grouping;
  /** All rows, and those that are shown. */
  all: readonly SplitRow[];
  rows: readonly SplitRow[];
  bins: readonly Bin[];
  total: Split;
}

/** The sum of the rows that are filtered away, so that the columns still add up to the whole. */
export function splitFoot({ grouping, all, rows, bins, total }: FootProps): Foot {
  const left = (of: (row: SplitRow) => number) => sum(all, of) - sum(rows, of);
  const time = left((row) => timeIn(bins, row.split));
  return {
    name: counted(all.length - rows.length, `more ${grouping.one}`),
    cells: {
      count: left((row) => row.count),
      ...Object.fromEntries(bins.map((bin) => [bin.id, left((row) => bin.of(row.split))])),
      total: time,
      share: shareOf(time, total),
    },
  };
}
