/** What stands beside a name in the kernel table: the op, the module or the line that its launches come from. */

import type { KernelGroup } from "../../api.gen";
import { Middle } from "../../components/middle";
import type { Column } from "../../components/table";
import { counted, DASH } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { lineText } from "../operators/tables";
import type { Grouping } from "./groups";

export const BESIDE_PX = 170;

export const BESIDE_COLUMNS: Readonly<
  Record<NonNullable<Grouping["beside"]>, (meanings: Meanings) => Column<KernelGroup>>
> = {
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

/** The line with most time; how many others there are stands in the hint. */
function Line({ line, count }: { line: string; count: number }) {
  const others = count > 1 ? `\nand ${counted(count - 1, "other line")}` : "";
  return (
    <span data-hint={line + others}>
      {lineText(line)}
      {count > 1 && <span class="faint"> +{count - 1}</span>}
    </span>
  );
}
