/** Kernel time by kernel, op or phase: which grouping is shown, its rows, and what is left out. */

import type { DeviceSplit, Split } from "../../api.gen";
import type { Meanings } from "../../meanings";
import type { Bin } from "./bins";

export interface Grouping {
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
export interface SplitRow {
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
export const timeIn = (bins: readonly Bin[], split: Split): number => bins.reduce((sum, bin) => sum + bin.of(split), 0);

/** Rows that contain the typed text, in any case, and time in a bin that is shown. */
export function matching(
  rows: readonly SplitRow[],
  typed: string,
  bins: readonly Bin[],
  all: number,
): readonly SplitRow[] {
  const wanted = typed.trim().toLowerCase();
  return rows.filter(
    (row) => row.name.toLowerCase().includes(wanted) && (bins.length === all || timeIn(bins, row.split) > 0),
  );
}
