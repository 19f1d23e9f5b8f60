import { useMemo } from "preact/hooks";
import type { DeviceGpu, KernelGroup, Phrase } from "../../api.gen";
import { tableData } from "../../components/data_table";
import { totalsText } from "../../components/figures";
import { GroupedFilter, Unmatched } from "../../components/filter";
import { Picture } from "../../components/picture";
import { Remark, Sentence } from "../../components/sentence";
import { type Foot, fileColumns } from "../../components/table";
import { counted, percent } from "../../format";
import { readingOf } from "../choices";
import { DIFFERENCE_PX, differences } from "../compare/compared_columns";
import type { Names, Tab, Titles, ViewPart } from "../props";
import { TablePicture } from "../table_picture";
import {
  type Grouping,
  groupingOf,
  isMissing,
  keyOf,
  matching,
  offered,
  quoted,
  type Rest,
  restOf,
  tableBy,
  WITHIN,
} from "./groups";
import { columnsOf } from "./kernel_columns";

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
    sub: totalsText(readingOf(tab)),
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
