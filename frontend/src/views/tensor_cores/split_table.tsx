/** Kernel time by kernel, op or phase: which grouping is shown, its rows and columns, and what is left out. */

import { sum } from "d3-array";
import type { DeviceSplit, Split } from "../../api.gen";
import { FigureBar } from "../../charts/bars/split_bar";
import { matchingRows } from "../../components/filter";
import type { Column, Foot } from "../../components/table";
import { counted } from "../../format";
import type { Meanings } from "../../meanings";
import { figuresOf } from "../table_picture";
import { type Bin, binsOf } from "./bins";

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

/** Launches of one op or phase. */
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

/** Time in the bins that are shown. */
const timeIn = (bins: readonly Bin[], split: Split): number => sum(bins, (bin) => bin.of(split));

/** Rows that contain the typed text, in any case, and time in a bin that is shown. */
export function matching(
  rows: readonly SplitRow[],
  typed: string,
  bins: readonly Bin[],
  all: number,
): readonly SplitRow[] {
  const named = matchingRows(rows, typed, (row) => [row.name]);
  return bins.length === all ? named : named.filter((row) => timeIn(bins, row.split) > 0);
}

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
