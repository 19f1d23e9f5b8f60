/** Columns of the kernel table: labels and meanings from the catalogue, widths and rendering from here. */

import { sum } from "d3-array";
import type { KernelGroup } from "../../api.gen";
import { FigureBar } from "../../charts/bars/split_bar";
import { type Column, fileFields } from "../../components/table";
import { counted, DASH, percent } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { lineText } from "../operators/tables";
import { figuresOf, Middle } from "../table_picture";
import { binsOf } from "../tensor_cores/bins";
import { fitted, KernelName, shortOf } from "../tensor_cores/kernel_name";
import type { Grouping } from "./groups";

/** Figures of a row that are also metrics of the catalogue, under the same name. */
type Figure = {
  [K in keyof KernelGroup]: KernelGroup[K] extends number | null ? K : never;
}[keyof KernelGroup];

/** Columns after the share, as far as there is room: those about filling the GPU come first. */
const FILLING: readonly (readonly [Figure, width: number])[] = [
  ["blocks_per_sm", 76],
  ["waves", 56],
  ["slot_efficiency", 70],
  ["est_achieved_occupancy", 94],
];
const WIDE: readonly (readonly [Figure, width: number])[] = [
  ["tail_fraction", 80],
  ["sm_active_share", 100],
  ["min_ns", 78],
  ["max_ns", 78],
];

/** Why a column about how launches fill the GPU is empty. */
const NO_GRID = "The trace does not record the grid of this kernel.";
const NO_ROOM = "How many blocks of this kernel the GPU holds at once is not known.";

const CORES = 96;
const COUNT = 68;
const MEAN = 74;
const TOTAL = 158;
const SHARE = 62;

/**
 * The width that a name keeps next to another name before columns are left out, px: a line contains file and function.
 */
const LEAST = { name: 150, line: 290 } as { name: number } & Partial<Record<Grouping["id"], number>>;

/** The least width of a name, px, and the width that it keeps when further columns are added. */
const NAME = 180;
const ENOUGH = 420;

/** Width for the word, px. */
const PERSISTENT = 66;

/** The gap to the next column. */
const GAP = 8;

export function columnsOf(
  grouping: Grouping,
  meanings: Meanings,
  rows: readonly KernelGroup[],
  width: number,
): Column<KernelGroup>[] {
  const longest = rows[0]?.total_ns ?? 1;
  const beside = grouping.beside ?? (rows.some((row) => row.source !== null) ? "source" : undefined);
  const narrow = width < (beside === undefined ? 900 : 1200);
  const total = narrow ? 120 : TOTAL;
  let room = width - CORES - COUNT - MEAN - total - SHARE - (beside ? BESIDE_PX : 0) - sum(FILLING, ([, wide]) => wide);
  const less = FILLING.toReversed().filter(([, wide]) => {
    const lacks = room < (LEAST[grouping.id] ?? LEAST.name);
    if (lacks) room += wide;
    return lacks;
  });
  const more = WIDE.filter(([, wide]) => {
    const fits = room - wide >= ENOUGH;
    if (fits) room -= wide;
    return fits;
  });
  const about = (id: string) => ({ id, ...columnHead(meanings, id) });
  const figure = ([id, wide]: readonly [Figure, number]): Column<KernelGroup> => ({
    ...about(id),
    width: `${wide}px`,
    missing: id === "blocks_per_sm" ? NO_GRID : NO_ROOM,
    extra: [...less, ...WIDE.filter((each) => !more.includes(each))].some(([each]) => each === id),
    figures: {
      of: (row) => row[id],
      unit: meanings.metric(id).unit,
      ...(id.endsWith("_ns") && { siblings: "launch" }),
    },
    ...(id === "est_achieved_occupancy" && {
      cell: (row) => <Occupancy row={row} meanings={meanings} />,
      file: OCCUPANCIES.map((each) => ({ ...fileHead(meanings, each), of: (row) => row[each] })),
    }),
  });
  return [
    {
      id: "name",
      label: isOfKernels(grouping) ? "Kernel" : grouping.label,
      least: "150px",
      order: shortOf,
      cell: (row) => <Name row={row} grouping={grouping} most={Math.max(NAME, room) - GAP} />,
      file: [
        ...fileFields<KernelGroup>({ name: "Name" }),
        { label: "Op", of: (row) => row.op ?? row.no_op },
        ...fileFields<KernelGroup>({ module: "Module", source: meanings.metric("source").label }),
      ],
    },
    ...(beside === undefined ? [] : [{ ...BESIDE_COLUMNS[beside](meanings), file: [], extra: width < BESIDE_FROM_PX }]),
    {
      ...about("tensor_core"),
      width: `${CORES}px`,
      order: answerOf,
      cell: (row) => <Cores row={row} />,
      file: [
        { label: meanings.viewTitle("tensor_cores"), of: answerOf },
        ...fileFields<KernelGroup>({ tensor_core_reason: "Why" }),
      ],
    },
    figuresOf<KernelGroup>(meanings)("count", "count", COUNT, (row) => row.count, { adds: "recording" }),
    {
      ...about("mean_ns"),
      id: "mean",
      width: `${MEAN}px`,
      figures: { of: (row) => row.mean_ns, unit: "ns", siblings: "launch" },
      cell: (row, written, write) => <span data-hint={`${write(row.min_ns)} to ${write(row.max_ns)}`}>{written}</span>,
    },
    {
      ...about("total_ns"),
      id: "total",
      width: `${total}px`,
      figures: { of: (row) => row.total_ns, unit: "ns", adds: "recording" },
      cell: (row, written) => <Total row={row} longest={longest} written={written} meanings={meanings} />,
    },
    figuresOf<KernelGroup>(meanings)("share", "share", SHARE, (row) => row.share),
    ...[...FILLING, ...WIDE].map(figure),
  ];
}

const OCCUPANCIES = ["est_achieved_occupancy", "kineto_achieved_occupancy"] as const;

function fileHead(meanings: Meanings, id: string) {
  const { label, unit } = meanings.metric(id);
  return { label, unit };
}

/** Whether each row is a single kernel. */
const isOfKernels = ({ id }: Grouping): boolean => id.startsWith("name");

function Name({ row, grouping, most }: { row: KernelGroup; grouping: Grouping; most: number }) {
  const kernel = isOfKernels(grouping);
  return (
    <KernelName
      name={row.name}
      shown={kernel ? fitted(shortOf(row), row.persistent ? most - PERSISTENT : most) : nameOf(row)}
      hint={titleOf(row, kernel)}
    >
      {kernel && row.persistent && <span class="faint">persistent</span>}
      {!kernel && <span class="faint">{counted(row.kernel_count, "kernel")}</span>}
    </KernelName>
  );
}

/** The full name and where it comes from. */
function titleOf(row: KernelGroup, kernel: boolean): string {
  if (!kernel) return row.name;
  const others = row.op_count > 1 ? ` and ${counted(row.op_count - 1, "other")}` : "";
  return [row.name, `From ${row.op ?? row.no_op ?? DASH}${others}${row.module ? ` in ${row.module}` : ""}.`].join("\n");
}

/** The name of a row; a line has its file without the folders. */
const nameOf = (row: KernelGroup): string => (row.name === row.source ? lineText(row.name) : row.name);

/** The first text in the cell. */
const answerOf = (row: KernelGroup): string => (row.eligible === false ? "not eligible" : row.tensor_core);

function Cores({ row }: { row: KernelGroup }) {
  const answer = answerOf(row);
  return (
    <span data-hint={`${answer}: ${row.tensor_core_reason}`} class={row.eligible === false ? "faint" : ""}>
      {answer}
    </span>
  );
}

interface TotalProps {
  row: KernelGroup;
  longest: number;
  written: string;
  meanings: Meanings;
}

/** Time with its bar, split in the same way as the picture above splits the whole. */
function Total({ row, longest, written, meanings }: TotalProps) {
  const parts = {
    tensor_core: row.tensor_core_ns,
    matmul_like: row.matmul_like_ns,
    unknown: row.unknown_ns,
    other: row.other_ns,
  };
  const segments = binsOf(meanings).map(({ id, colour, hatched }) => ({
    colour,
    hatched,
    share: (parts[id] ?? 0) / longest,
  }));
  return <FigureBar segments={segments}>{written}</FigureBar>;
}

function Occupancy({ row, meanings }: { row: KernelGroup; meanings: Meanings }) {
  const theirs = meanings.metric("kineto_achieved_occupancy");
  return (
    <span data-hint={`${theirs.label}: ${percent(row.kineto_achieved_occupancy)}. ${theirs.meaning}`}>
      {percent(row.est_achieved_occupancy)}
    </span>
  );
}

/** The column beside a name in the kernel table: the op, the module or the line from which its launches come. */
const BESIDE_PX = 170;

/** In less space the column is shown only where the reader chooses it: the totals would be out of sight. */
const BESIDE_FROM_PX = 700;

const BESIDE_COLUMNS: Readonly<Record<NonNullable<Grouping["beside"]>, (meanings: Meanings) => Column<KernelGroup>>> = {
  op: () => ({
    id: "op",
    label: "Op",
    width: `${BESIDE_PX}px`,
    order: (row) => row.op,
    cell: (row) => (
      <span data-hint={row.op ?? row.no_op ?? ""} class={row.op === null ? "faint" : ""}>
        {row.op ?? row.no_op}
        {row.op_count > 1 && <span class="faint"> +{row.op_count - 1}</span>}
      </span>
    ),
  }),
  module: () => ({
    id: "module",
    label: "Module",
    width: `${BESIDE_PX}px`,
    order: (row) => row.module,
    cell: (row) => (row.module === null ? DASH : <Middle name={row.module} />),
    missing: "It is launched outside any module.",
  }),
  source: (meanings) => ({
    id: "source",
    ...columnHead(meanings, "source"),
    width: `${BESIDE_PX}px`,
    order: (row) => row.source,
    cell: (row) => (row.source === null ? DASH : <Line line={row.source} count={row.source_count} />),
    missing: "No line is recorded around most of its launches, nor around what made them.",
  }),
};

/** The line with most time; the hint says how many others there are. */
function Line({ line, count }: { line: string; count: number }) {
  const others = count > 1 ? `\nand ${counted(count - 1, "other line")}` : "";
  return (
    <span data-hint={line + others}>
      {lineText(line)}
      {count > 1 && <span class="faint"> +{count - 1}</span>}
    </span>
  );
}
