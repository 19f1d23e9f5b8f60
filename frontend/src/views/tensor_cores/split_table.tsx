import type { ComponentChildren } from "preact";
import type { Split } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { type Column, type Foot, Table } from "../../components/table";
import { counted } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sorting } from "../choices";
import type { Tab } from "../props";
import type { Bin } from "./bins";
import { type Grouping, type SplitRow, timeIn } from "./groups";

interface SplitTableProps {
  grouping: Grouping;
  /** All rows, and those that are shown. */
  all: readonly SplitRow[];
  rows: readonly SplitRow[];
  /** The bins that are shown. */
  bins: readonly Bin[];
  total: Split;
  tab: Tab;
  maxRows: number;
  empty: ComponentChildren;
}

/** Ops or phases, each with its kernel time in four. */
export function SplitTable({ grouping, all, rows, bins, total, tab, maxRows, empty }: SplitTableProps) {
  return (
    <Table
      label={`Kernel time by ${grouping.label.toLowerCase()}`}
      columns={splitColumns(grouping, all, bins, total, tab.meanings)}
      rows={rows}
      rowKey={(row) => `${row.nameless} ${row.name}`}
      maxRows={maxRows}
      {...sorting(tab, "sort", "-total")}
      empty={empty}
      foot={rows.length < all.length && footOf({ grouping, all, rows, bins, total })}
    />
  );
}

const longestOf = (rows: readonly SplitRow[]): number =>
  rows.reduce((maxRows, row) => Math.max(maxRows, row.split.kernel_ns), 0);

/** Widths of the columns next to the name, px; the name has the rest. */
const COUNT = 72;
const TIME = 88;
const TOTAL = 230;
const SHARE = 64;

function splitColumns(
  grouping: Grouping,
  all: readonly SplitRow[],
  bins: readonly Bin[],
  total: Split,
  meanings: Meanings,
): Column<SplitRow>[] {
  const longest = Math.max(1, longestOf(all));
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
    {
      id: "count",
      ...columnHead(meanings, "count"),
      width: `${COUNT}px`,
      figures: { of: (row) => row.count, unit: "count", adds: "recording" },
    },
    ...bins.map(
      (bin): Column<SplitRow> => ({
        id: bin.id,
        label: bin.short,
        meaning: `${bin.label}. ${bin.meaning}`,
        width: `${TIME}px`,
        figures: { of: (row) => bin.of(row.split), unit: "ns", adds: "recording", siblings: "time" },
        cell: (row, written) => <span class={bin.of(row.split) === 0 ? "faint" : ""}>{written}</span>,
      }),
    ),
    {
      id: "total",
      ...columnHead(meanings, "shown_ns"),
      width: `${TOTAL}px`,
      figures: { of: (row) => timeIn(bins, row.split), unit: "ns", adds: "recording", siblings: "time" },
      cell: (row, written) => (
        <span class="total">
          <InlineBar
            segments={bins.map((bin) => ({
              colour: bin.colour,
              hatched: bin.hatched,
              share: bin.of(row.split) / longest,
            }))}
          />
          {written}
        </span>
      ),
    },
    {
      id: "share",
      ...columnHead(meanings, "share"),
      width: `${SHARE}px`,
      figures: { of: (row) => shareOf(timeIn(bins, row.split), total), unit: "fraction" },
    },
  ];
}

const shareOf = (ns: number, total: Split): number | null => (total.kernel_ns ? ns / total.kernel_ns : null);

type FootProps = Omit<SplitTableProps, "tab" | "maxRows" | "empty">;

/** What is filtered away, so that the columns still tell the whole. */
function footOf({ grouping, all, rows, bins, total }: FootProps): Foot {
  const left = (of: (row: SplitRow) => number) =>
    all.reduce((sum, row) => sum + of(row), 0) - rows.reduce((sum, row) => sum + of(row), 0);
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
