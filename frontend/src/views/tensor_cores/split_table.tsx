import type { ComponentChildren } from "preact";
import type { Split } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { type Column, Table } from "../../components/table";
import { count, counted, percent, type Scale, scaleFor } from "../../format";
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
  const scale = scaleFor(longestOf(all), "ns");
  return (
    <Table
      label={`Kernel time by ${grouping.label.toLowerCase()}`}
      columns={splitColumns(grouping, all, bins, total, tab.meanings)}
      rows={rows}
      rowKey={(row) => `${row.nameless} ${row.name}`}
      maxRows={maxRows}
      {...sorting(tab, "sort", "-total")}
      empty={empty}
      foot={
        rows.length < all.length && (
          <Foot grouping={grouping} all={all} rows={rows} bins={bins} total={total} scale={scale} />
        )
      }
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

export function splitColumns(
  grouping: Grouping,
  all: readonly SplitRow[],
  bins: readonly Bin[],
  total: Split,
  meanings: Meanings,
): Column<SplitRow>[] {
  const longest = Math.max(1, longestOf(all));
  const scale = scaleFor(longest, "ns");
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
      numeric: true,
      order: (row) => row.count,
      cell: (row) => count(row.count),
    },
    ...bins.map(
      (bin): Column<SplitRow> => ({
        id: bin.id,
        label: bin.short,
        meaning: `${bin.label}. ${bin.meaning}`,
        width: `${TIME}px`,
        numeric: true,
        order: (row) => bin.of(row.split),
        cell: (row) => <Time ns={bin.of(row.split)} scale={scale} />,
      }),
    ),
    {
      id: "total",
      ...columnHead(meanings, "shown_ns"),
      width: `${TOTAL}px`,
      numeric: true,
      order: (row) => timeIn(bins, row.split),
      cell: (row) => (
        <span class="total">
          <InlineBar
            segments={bins.map((bin) => ({
              colour: bin.colour,
              hatched: bin.hatched,
              share: bin.of(row.split) / longest,
            }))}
          />
          {scale.text(timeIn(bins, row.split))}
        </span>
      ),
    },
    {
      id: "share",
      ...columnHead(meanings, "share"),
      width: `${SHARE}px`,
      numeric: true,
      order: (row) => timeIn(bins, row.split),
      cell: (row) => percent(shareOf(timeIn(bins, row.split), total)),
    },
  ];
}

const shareOf = (ns: number, total: Split): number | null => (total.kernel_ns ? ns / total.kernel_ns : null);

/** Nothing recedes. */
function Time({ ns, scale }: { ns: number; scale: Scale }) {
  return <span class={ns === 0 ? "faint" : ""}>{scale.text(ns)}</span>;
}

type FootProps = Omit<SplitTableProps, "tab" | "maxRows" | "empty"> & { scale: Scale };

/** What is filtered away, so that the columns still tell the whole. */
function Foot({ grouping, all, rows, bins, total, scale }: FootProps) {
  const left = (of: (row: SplitRow) => number) =>
    all.reduce((sum, row) => sum + of(row), 0) - rows.reduce((sum, row) => sum + of(row), 0);
  const time = left((row) => timeIn(bins, row.split));
  return (
    <tr>
      <td>{counted(all.length - rows.length, `more ${grouping.one}`)}</td>
      <td class="num">{count(left((row) => row.count))}</td>
      {bins.map((bin) => (
        <td key={bin.id} class="num">
          {scale.text(left((row) => bin.of(row.split)))}
        </td>
      ))}
      <td class="num">{scale.text(time)}</td>
      <td class="num">{percent(shareOf(time, total))}</td>
    </tr>
  );
}
