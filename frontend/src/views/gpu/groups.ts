/** Kernels as the server groups them: which grouping is shown, which of its rows, and what is left out. */

import type { DeviceGpu, KernelGroup, KernelGrouping } from "../../api.gen";

export interface Grouping {
  /** KernelGrouping.by, and in the address. */
  id: KernelGrouping["by"];
  label: string;
  /** What a row is, and several of them. */
  one: string;
  meaning: string;
}

export const GROUPINGS: readonly [Grouping, ...Grouping[]] = [
  { id: "name", label: "Kernel", one: "kernel", meaning: "A row for each kernel." },
  { id: "name,op", label: "Kernel and op", one: "row", meaning: "A row for each kernel and the op that launched it." },
  { id: "op", label: "Op", one: "op", meaning: "A row for each op. Click it to see its kernels." },
  { id: "module", label: "Module", one: "module", meaning: "A row for each module." },
];

export const groupingOf = (id: string | undefined): Grouping =>
  GROUPINGS.find((each) => each.id === id) ?? GROUPINGS[0];

const NOTHING: KernelGrouping = { by: "name", rows: [], more_rows: 0, more_count: 0, more_ns: 0 };

export const tableBy = (device: DeviceGpu, { id }: Grouping): KernelGrouping =>
  device.tables.find((table) => table.by === id) ?? NOTHING;

export const keyOf = (row: KernelGroup): string => `${row.name}\n${row.op ?? row.no_op ?? ""}`;

/** Rows whose kernel, op or module holds what was typed, in any case. */
export function matching(rows: readonly KernelGroup[], typed: string): readonly KernelGroup[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return rows;
  return rows.filter((row) =>
    [row.name, row.short, row.op, row.no_op, row.module].some((name) => name?.toLowerCase().includes(wanted)),
  );
}

export interface Rest {
  rows: number;
  count: number;
  ns: number;
}

/** What the shown rows lack to the whole table. */
export function restOf(table: KernelGrouping, shown: readonly KernelGroup[]): Rest {
  const sum = (rows: readonly KernelGroup[], of: (row: KernelGroup) => number) =>
    rows.reduce((total, row) => total + of(row), 0);
  return {
    rows: table.more_rows + table.rows.length - shown.length,
    count: table.more_count + sum(table.rows, (row) => row.count) - sum(shown, (row) => row.count),
    ns: table.more_ns + sum(table.rows, (row) => row.total_ns) - sum(shown, (row) => row.total_ns),
  };
}
