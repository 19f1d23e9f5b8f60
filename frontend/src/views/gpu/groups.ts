/** Kernels as the server groups them: which grouping is shown, which of its rows, and what is left out. */

import { sum } from "d3-array";
import type { DeviceGpu, KernelGroup, KernelGrouping } from "../../api.gen";
import { matchingRows } from "../../components/filter";

export interface Grouping {
  /** The value of KernelGrouping.by, also used in the address. */
  id: KernelGrouping["by"];
  label: string;
  /** What a row is, in the singular. */
  one: string;
  meaning: string;
  beside?: "op" | "module" | "source";
  /**
   * The grouping of the rows that link to this one, which lists the kernels within such a row: it is not offered
   * otherwise.
   */
  within?: KernelGrouping["by"];
}

export const GROUPINGS: readonly [Grouping, ...Grouping[]] = [
  { id: "name", label: "Kernel", one: "kernel", meaning: "A row for each kernel." },
  {
    id: "name,op",
    label: "Kernel and op",
    one: "row",
    meaning: "A row for each kernel and the op that launched it.",
    beside: "op",
  },
  {
    id: "name,module",
    label: "Kernel and module",
    one: "row",
    meaning: "A row for each kernel and the module that it runs for.",
    beside: "module",
    within: "module",
  },
  {
    id: "name,line",
    label: "Kernel and line",
    one: "row",
    meaning: "A row for each kernel and the line of your code that launches it.",
    beside: "source",
    within: "line",
  },
  { id: "op", label: "Op", one: "op", meaning: "A row for each op. Click it to see its kernels." },
  {
    id: "module",
    label: "Module",
    one: "module",
    meaning:
      "A row for each module, with the kernels of its forward pass and those that it made for the backward pass. " +
      "Click it to see them.",
  },
  {
    id: "line",
    label: "Line",
    one: "line",
    meaning:
      "A row for each line of your code, with the kernels that it launches and those that it made for the backward " +
      "pass. Click it to see them.",
    beside: "op",
  },
];

/** The grouping whose table lists the kernels within an op, a module or a line. */
export const WITHIN: Readonly<Partial<Record<KernelGrouping["by"], KernelGrouping["by"]>>> = {
  op: "name,op",
  module: "name,module",
  line: "name,line",
};

export const offered = (chosen: Grouping): readonly Grouping[] =>
  GROUPINGS.filter((each) => each.within === undefined || each === chosen);

export const isMissing = ({ tables }: DeviceGpu, { id }: Grouping): boolean => !tables.some(({ by }) => by === id);

export const groupingOf = (id: string | undefined): Grouping =>
  GROUPINGS.find((each) => each.id === id) ?? GROUPINGS[0];

const NOTHING: KernelGrouping = { by: "name", rows: [], more_rows: 0, more_count: 0, more_ns: 0 };

export const tableBy = (device: DeviceGpu, { id }: Grouping): KernelGrouping =>
  device.tables.find((table) => table.by === id) ?? NOTHING;

export const keyOf = (row: KernelGroup): string =>
  [row.name, row.op ?? row.no_op ?? "", row.module ?? "", row.source ?? ""].join("\n");

/** Rows whose kernel, op, module or line matches the typed text. */
export const matching = (rows: readonly KernelGroup[], typed: string): readonly KernelGroup[] =>
  matchingRows(rows, typed, (row) => [row.name, row.short, row.op, row.no_op, row.module, row.source]);

export interface Rest {
  rows: number;
  count: number;
  ns: number;
}

/** The sum of the rows of the whole table that are not shown. */
export function restOf(table: KernelGrouping, shown: readonly KernelGroup[]): Rest {
  const lacks = (of: (row: KernelGroup) => number) => sum(table.rows, of) - sum(shown, of);
  return {
    rows: table.more_rows + table.rows.length - shown.length,
    count: table.more_count + lacks((row) => row.count),
    ns: table.more_ns + lacks((row) => row.total_ns),
  };
}
