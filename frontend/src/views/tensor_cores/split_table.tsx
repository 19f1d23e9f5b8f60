import type { Split } from "../../api.gen";
import { FigureBar } from "../../charts/bars/split_bar";
import type { Column, Foot } from "../../components/table";
import { counted } from "../../format";
import type { Meanings } from "../../meanings";
import { figuresOf } from "../table_picture";
import { type Bin, binsOf } from "./bins";
import { type Grouping, type SplitRow, timeIn } from "./groups";

/** Widths of the columns next to the name, px; the name takes the rest. */
const COUNT = 72;
const TIME = 88;
const TOTAL = 230;
const SHARE = 64;

export function splitColumns(
  grouping: Grouping,
  all: readonly SplitRow[],
  bins: readonly Bin[],
  total: Split,
  meanings: Meanings,
): Column<SplitRow>[] {
  const longest = all.reduce((most, row) => Math.max(most, row.split.kernel_ns), 1);
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
        id: bin.id,
        label: bin.short,
        meaning: `${bin.label}. ${bin.meaning}`,
        width: `${TIME}px`,
        figures: { of: (row) => bin.of(row.split), unit: "ns", adds: "recording", siblings: "time" },
        cell: (row, written) => <span class={bin.of(row.split) === 0 ? "faint" : ""}>{written}</span>,
        file: [],
      }),
    ),
    {
      ...figure("total", "shown_ns", TOTAL, (row) => timeIn(bins, row.split), { adds: "recording", siblings: "time" }),
      cell: (row, written) => (
        <FigureBar
          segments={bins.map((bin) => ({
            colour: bin.colour,
            hatched: bin.hatched,
            share: bin.of(row.split) / longest,
          }))}
        >
          {written}
        </FigureBar>
      ),
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
  /** The bins that are shown. */
  bins: readonly Bin[];
  total: Split;
}

/** The sum of the rows that are filtered away, so that the columns still add up to the whole. */
export function splitFoot({ grouping, all, rows, bins, total }: FootProps): Foot {
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
