/** The labels of the tables of changes, which of their rows are requested, and why two rows are matched. */

import type { ChangeTable, RowChange } from "../../api.gen";

type MatchedBy = RowChange["matched_by"];
export type TableId = ChangeTable["of"];

/** name: the label of the column that says what a row is; time: what its time means. */
interface TableWords {
  label: string;
  one: string;
  name: string;
  time: string;
}

export const TABLES: Readonly<Record<TableId, TableWords>> = {
  kernels: { label: "Kernels", one: "kernel", name: "Kernel", time: "Time of the kernels" },
  ops: {
    label: "Ops",
    one: "op",
    name: "Op",
    time: "Time on the CPU without the ops inside, added up over the threads,",
  },
  blocking: { label: "Blocking calls", one: "blocking call", name: "Call", time: "How long the call blocks the CPU" },
  copies: { label: "Copies", one: "copy", name: "Copy", time: "Time of the copies" },
};

/** Why two rows are matched, from the most to the least certain. */
export const MATCHES: Readonly<Record<MatchedBy, { label: string; meaning: string }>> = {
  name: { label: "name", meaning: "The same name in the same place: op, input shapes, module and phase." },
  op: {
    label: "op",
    meaning: "Another name for the same op with the same input shapes, in the same module and phase.",
  },
  module: { label: "module", meaning: "Another kernel in the same module and phase; the op or its shapes are others." },
  shapes: { label: "shapes", meaning: "The same op with the same input shapes, in another module." },
  fused: { label: "fused", meaning: "A compiled kernel that has the op in its name." },
  kernel: { label: "kernel", meaning: "The same kernel, launched from another place." },
  op_name: {
    label: "op name",
    meaning: "The same kind of kernel for the same op, with other input shapes: the weakest match.",
  },
  place: { label: "place", meaning: "The same place: another call there, or another kind of memory." },
  base_only: { label: "gone", meaning: "Only in the base: nothing in the candidate stands for it." },
  candidate_only: { label: "new", meaning: "Only in the candidate: nothing in the base stands for it." },
};

export type Kind = "all" | "changed" | "new" | "gone" | "renamed";

interface KindWords {
  label: string;
  meaning: string;
  has(row: RowChange): boolean;
}

export const KINDS: Readonly<Record<Kind, KindWords>> = {
  all: { label: "All", meaning: "All rows of both.", has: () => true },
  changed: {
    label: "Changed",
    meaning: "In both, with another time a step: by a microsecond or more, and by more than noise.",
    has: ({ status }) => status === "changed",
  },
  new: { label: "New", meaning: MATCHES.candidate_only.meaning, has: ({ status }) => status === "new" },
  gone: { label: "Gone", meaning: MATCHES.base_only.meaning, has: ({ status }) => status === "gone" },
  renamed: {
    label: "Replaced",
    meaning: "Matched over their names: one stands for another.",
    has: ({ base_name, candidate_name }) =>
      base_name !== null && candidate_name !== null && base_name !== candidate_name,
  },
};

export const isKind = (id: string | undefined): id is Kind => id !== undefined && Object.hasOwn(KINDS, id);

export const movedNs = ({ base_ns, candidate_ns }: RowChange): number => candidate_ns - base_ns;
