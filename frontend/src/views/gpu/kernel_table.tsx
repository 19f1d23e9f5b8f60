import { sum } from "d3-array";
import { useMemo } from "preact/hooks";
import type { DeviceGpu, KernelGroup, Phrase } from "../../api.gen";
import type { BarSegment } from "../../charts/bars/split_bar";
import { lineName, shortName } from "../../code_line";
import { tableData } from "../../components/data_table";
import { GroupedFilter, quoted, Unmatched } from "../../components/filter";
import { Picture } from "../../components/picture";
import { Remark, Sentence } from "../../components/sentence";
import { type Column, type Foot, fileColumns, fileFields } from "../../components/table";
import { counted, DASH, percent } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { totalsOf } from "../choices";
import { DIFFERENCE_PX, differences } from "../compare/compared_columns";
import type { Names, Tab, Titles, ViewPart } from "../props";
import { figuresOf, Middle, TablePicture } from "../table_picture";
import { binsOf } from "../tensor_cores/bins";
import { fitted, KernelName, shortOf } from "../tensor_cores/kernel_name";
import {
  type Grouping,
  groupingOf,
  isMissing,
  keyOf,
  matching,
  offered,
  type Rest,
  restOf,
  tableBy,
  WITHIN,
} from "./groups";

interface GpuKernelsProps extends ViewPart {
  device: DeviceGpu;
  steps: number;
  other: OtherGpu | null;
  title: Phrase;
  /** Titles, including how to record lines and modules where they are missing. */
  titles: Titles;
  /** The kernel whose launches are shown below. */
  opened: string | null;
  open(kernel: string): void;
}

/** Kernels by time, grouped as the reader chooses. */
export function GpuKernels({ device, steps, other, title, titles, tab, name, opened, open }: GpuKernelsProps) {
  const grouping = groupingOf(tab.state.by);
  const table = tableBy(device, grouping);
  const typed = tab.state.kernel ?? "";
  const rows = useMemo(() => matching(table.rows, typed), [table, typed]);
  const rest = restOf(table, rows);
  const choose = chooserOf(device, grouping, tab, open);
  const lacking = lackingOf(grouping, titles);
  const change = (kernel: string | null) => tab.update({ kernel });
  const head = {
    title,
    sub: totalsOf(tab),
    details:
      (device.kineto_zero_fraction ?? 0) > 0 &&
      `Occupancy of ${percent(device.kineto_zero_fraction)} of kernel time is computed from the launch: the profiler ` +
        "wrote 0 there, which is wrong.",
    name: `kernels by ${grouping.id} ${name}`,
    tools: (
      <GroupedFilter
        groups={{
          label: "Group launches by",
          chosen: grouping.id,
          options: offered(grouping),
          choose: (by) => tab.update({ by }),
        }}
        filter={{
          label: "Filter by kernel, op, module or line",
          placeholder: "Filter names",
          ...{ typed, change, shown: rows.length, all: table.rows.length, folded: table.more_rows },
        }}
      />
    ),
  };
  const columns = (width: number) => [
    ...columnsOf(grouping, tab.meanings, table.rows, other ? width - DIFFERENCE_PX : width),
    ...differenceOf(table.rows, steps, other, grouping),
  ];
  if (isMissing(device, grouping))
    return (
      <Picture {...head} drawn={false} table={() => tableData(fileColumns(columns(0)), rows)}>
        <p class="unmeasured">
          <span>{lacking && <Sentence phrase={lacking} />}</span>
        </p>
      </Picture>
    );
  return (
    <TablePicture
      {...head}
      label={`Kernels by ${grouping.label.toLowerCase()}`}
      columns={columns}
      rows={rows}
      room={table.rows.length}
      rowKey={keyOf}
      mark={["kernels", (row) => row.name]}
      maxRows={10}
      order={["sort", "-total"]}
      tab={tab}
      {...(choose && { onChoose: choose })}
      chosen={opened === null ? undefined : rows.filter((row) => row.name === opened).map(keyOf)[0]}
      empty={typed ? <Unmatched typed={typed} change={change} /> : "No kernels."}
      foot={rest.rows > 0 && footOf(grouping, rest, device.split.kernel_ns)}
    >
      <Remark phrase={lacking} />
    </TablePicture>
  );
}

/** The GPU of the other span that is compared with this one. */
export interface OtherGpu extends Names {
  device: DeviceGpu;
  steps: number;
}

const differenceOf = (rows: readonly KernelGroup[], steps: number, other: OtherGpu | null, grouping: Grouping) =>
  differences(other, other && tableBy(other.device, grouping).rows, {
    rows,
    keyOf: sameKey(grouping),
    ns: (row) => row.total_ns,
    steps: [steps, other?.steps ?? 1],
  });

/**
 * Rows with equal grouping keys are the same: where rows are grouped by kernel, the op of a row is only one of several.
 */
const sameKey = ({ id }: Grouping): ((row: KernelGroup) => string) => {
  switch (id) {
    case "name,op":
      return (row) => `${row.name}\n${row.op ?? row.no_op}`;
    case "name,module":
      return (row) => `${row.name}\n${row.module}`;
    case "name,line":
      return (row) => `${row.name}\n${row.source}`;
    default:
      return (row) => row.name;
  }
};

/** How to record what is needed for a grouping. */
const lackingOf = ({ id }: Grouping, titles: Titles): Phrase | undefined =>
  id.endsWith("line") ? titles.no_lines : id.endsWith("module") ? titles.no_modules : undefined;

/** A kernel opens its launches; an op, a module or a line opens its kernels, where there is a table of these. */
function chooserOf(
  device: DeviceGpu,
  grouping: Grouping,
  tab: Tab,
  open: (kernel: string) => void,
): ((row: KernelGroup) => void) | undefined {
  const by = WITHIN[grouping.id];
  if (by === undefined) return (row) => open(row.name);
  return device.tables.some((table) => table.by === by)
    ? (row) => tab.update({ by, kernel: quoted(row.name) })
    : undefined;
}

/** The sum of the rows that are folded or filtered away, so that the columns still add up to the whole. */
const footOf = (grouping: Grouping, rest: Rest, whole: number): Foot => ({
  name: counted(rest.rows, `more ${grouping.one}`),
  cells: { count: rest.count, total: rest.ns, share: whole ? rest.ns / whole : null },
});

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
  const figure = figuresOf<KernelGroup>(meanings);
  const filling = ([id, wide]: readonly [Figure, number]): Column<KernelGroup> => ({
    ...figure(id, id, wide, (row) => row[id], id.endsWith("_ns") ? { siblings: "launch" } : {}),
    missing: id === "blocks_per_sm" ? NO_GRID : NO_ROOM,
    extra: [...less, ...WIDE.filter((each) => !more.includes(each))].some(([each]) => each === id),
    ...(id === "est_achieved_occupancy" && {
      cell: (row) => percent(row.est_achieved_occupancy),
      hint: (row) => theirOccupancy(row, meanings),
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
      id: "tensor_core",
      ...columnHead(meanings, "tensor_core"),
      width: `${CORES}px`,
      order: answerOf,
      cell: (row) => (row.eligible === false ? <span class="faint">{answerOf(row)}</span> : answerOf(row)),
      hint: (row) => `${answerOf(row)}: ${row.tensor_core_reason}`,
      file: [
        { label: meanings.viewTitle("tensor_cores"), of: answerOf },
        ...fileFields<KernelGroup>({ tensor_core_reason: "Why" }),
      ],
    },
    figure("count", "count", COUNT, (row) => row.count, { adds: "recording" }),
    {
      ...figure("mean", "mean_ns", MEAN, (row) => row.mean_ns, { siblings: "launch" }),
      cell: (row, written, write) => <span data-hint={`${write(row.min_ns)} to ${write(row.max_ns)}`}>{written}</span>,
    },
    {
      ...figure("total", "total_ns", total, (row) => row.total_ns, { adds: "recording" }),
      bar: (row) => splitOf(row, longest, meanings),
    },
    figure("share", "share", SHARE, (row) => row.share),
    ...[...FILLING, ...WIDE].map(filling),
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
const nameOf = (row: KernelGroup): string => (row.name === row.source ? shortName(row.name) : row.name);

/** The first text in the cell. */
const answerOf = (row: KernelGroup): string => (row.eligible === false ? "not eligible" : row.tensor_core);

/** The bar of a kernel's time is split in the same way as the picture above splits the whole. */
const splitOf = (row: KernelGroup, longest: number, meanings: Meanings): BarSegment[] =>
  binsOf(meanings).map(({ id, colour, hatched }) => ({ colour, hatched, share: row[`${id}_ns`] / longest }));

function theirOccupancy({ kineto_achieved_occupancy: theirs }: KernelGroup, meanings: Meanings): string {
  const { label, meaning } = meanings.metric("kineto_achieved_occupancy");
  return `${label}: ${percent(theirs)}. ${meaning}`;
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
    <span data-hint={lineName(line) + others}>
      {shortName(line)}
      {count > 1 && <span class="faint"> +{count - 1}</span>}
    </span>
  );
}
