/** Kernels of both runs, the largest change first: what stands for what, and what is in one of them only. */

import { useMemo } from "preact/hooks";
import type { KernelChange } from "../../api.gen";
import { Chips } from "../../components/chips";
import type { TableData } from "../../components/data_table";
import type { Figures } from "../../components/figures";
import { Filter } from "../../components/filter";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { hint } from "../../dom/hint";
import { count, counted, DASH } from "../../format";
import { sorting } from "../choices";
import type { Pair, Tab } from "../props";

type MatchedBy = KernelChange["matched_by"];

/** Why two kernels stand for each other, from the surest to the weakest. */
const MATCHES: Readonly<Record<MatchedBy, { label: string; meaning: string }>> = {
  name: { label: "name", meaning: "The same kernel, launched by the same op with the same input shapes." },
  op: {
    label: "op",
    meaning: "Another kernel for the same op with the same input shapes, in the same module and phase.",
  },
  module: { label: "module", meaning: "Another kernel in the same module and phase; the op or its shapes are others." },
  shapes: { label: "shapes", meaning: "The same op with the same input shapes, in another module." },
  kernel: { label: "kernel", meaning: "The same kernel, launched from another place." },
  op_name: { label: "op name", meaning: "The same op in the same phase, with other input shapes: the weakest match." },
  base_only: { label: "gone", meaning: "Only in the base: nothing in the candidate stands for it." },
  candidate_only: { label: "new", meaning: "Only in the candidate: nothing in the base stands for it." },
};

type Kind = "all" | "changed" | "new" | "gone" | "renamed";

const KINDS: Readonly<Record<Kind, { label: string; meaning: string; has(row: KernelChange): boolean }>> = {
  all: { label: "All", meaning: "Every kernel of both.", has: () => true },
  changed: {
    label: "Changed",
    meaning: "In both, with another time a step.",
    has: (row) => row.base_name !== null && row.candidate_name !== null && changeOf(row) !== 0,
  },
  new: { label: "New", meaning: MATCHES.candidate_only.meaning, has: (row) => row.base_name === null },
  gone: { label: "Gone", meaning: MATCHES.base_only.meaning, has: (row) => row.candidate_name === null },
  renamed: {
    label: "Replaced",
    meaning: "Matched over their names: one kernel stands for another.",
    has: ({ base_name, candidate_name }) =>
      base_name !== null && candidate_name !== null && base_name !== candidate_name,
  },
};

const isKind = (id: string | undefined): id is Kind => id !== undefined && Object.hasOwn(KINDS, id);

export function KernelChanges({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { kernels, more_kernels: more } = pair.found.comparison;
  const kind = isKind(tab.state.moved) ? tab.state.moved : "all";
  const typed = tab.state.kernel ?? "";
  const ofKind = useMemo(() => kernels.filter(KINDS[kind].has), [kernels, kind]);
  const rows = useMemo(() => matching(ofKind, typed), [ofKind, typed]);
  const columns = useMemo(() => columnsOf(pair), [pair]);
  if (kernels.length === 0) return null;
  return (
    <Picture
      title={`Which of ${counted(kernels.length + more, "kernel")} changed?`}
      sub={more > 0 ? `a step; the ${count(kernels.length)} that changed most` : "a step; most change first"}
      name={`kernels by change ${pair.own} ${pair.name}`}
      table={() => tableOf(rows, pair)}
      link={() => tab.address()}
      drawn={false}
      tools={
        <Filter
          label="Filter by kernel, op or module"
          placeholder="Filter names"
          typed={typed}
          change={(kernel) => tab.update({ kernel })}
          shown={rows.length}
          all={ofKind.length}
        />
      }
    >
      <Chips
        label="Which kernels"
        chosen={kind}
        options={(Object.keys(KINDS) as Kind[]).map((id) => ({
          id,
          label: `${KINDS[id].label} ${count(kernels.filter(KINDS[id].has).length)}`,
          meaning: KINDS[id].meaning,
        }))}
        choose={(moved) => tab.update({ moved: moved === "all" ? null : moved })}
      />
      <Table
        label="Kernels by change"
        columns={columns}
        rows={rows}
        rowKey={keyOf}
        maxRows={14}
        {...sorting(tab, "changes")}
        empty={typed ? "Nothing here matches." : "No such kernels."}
      />
    </Picture>
  );
}

/** Two rows never have the same place on both sides. */
const keyOf = (row: KernelChange): string =>
  [
    row.base_name,
    row.candidate_name,
    row.op,
    row.shapes,
    row.module,
    row.matched_by,
    row.base_ns,
    row.candidate_ns,
  ].join();

const changeOf = ({ base_ns, candidate_ns }: KernelChange): number => candidate_ns - base_ns;

function matching(rows: readonly KernelChange[], typed: string): readonly KernelChange[] {
  const words = typed.trim().toLowerCase();
  if (words === "") return rows;
  return rows.filter(({ base_name, candidate_name, op, module }) =>
    [base_name, candidate_name, op, module].some((each) => each?.toLowerCase().includes(words)),
  );
}

function columnsOf({ name, own }: Pair): Column<KernelChange>[] {
  const only = (side: string, of: (row: KernelChange) => number) => (row: KernelChange) =>
    row.matched_by === side ? null : of(row);
  const figures = (of: Figures<KernelChange>["of"], unit: "ns" | "number"): Figures<KernelChange> => ({
    of,
    unit,
    adds: "step",
    siblings: "both",
  });
  const calls = (id: string, label: string, of: Figures<KernelChange>["of"]): Column<KernelChange> => ({
    ...{ id, label, width: "92px", figures: figures(of, "number") },
    meaning: `Launches a step of ${id === "base_calls" ? name : own}.`,
  });
  return [
    {
      id: "kernel",
      label: "Kernel",
      meaning: `Of ${name}, and of ${own} where another stands for it.`,
      cell: (row) => <Names row={row} />,
      order: (row) => row.base_short ?? row.candidate_short,
    },
    {
      id: "op",
      label: "Op",
      width: "124px",
      cell: ({ op, shapes }) => <Op op={op} shapes={shapes} />,
      missing: "No op launched it.",
      order: ({ op }) => op,
    },
    {
      id: "module",
      label: "Module",
      width: "124px",
      cell: ({ module }) => module ?? DASH,
      missing: "No module is recorded: with_modules or with_stack of torch.profiler record them.",
      order: ({ module }) => module,
      extra: true,
    },
    calls(
      "base_calls",
      "Calls before",
      only("candidate_only", (row) => row.base_calls),
    ),
    calls(
      "candidate_calls",
      "Calls after",
      only("base_only", (row) => row.candidate_calls),
    ),
    {
      ...{ id: "base", label: "Before", width: "92px", meaning: `Time a step of ${name}.` },
      figures: figures(
        only("candidate_only", (row) => row.base_ns),
        "ns",
      ),
    },
    {
      ...{ id: "candidate", label: "After", width: "92px", meaning: `Time a step of ${own}.` },
      figures: figures(
        only("base_only", (row) => row.candidate_ns),
        "ns",
      ),
    },
    {
      ...{ id: "change", label: "Change", width: "92px", meaning: `Time a step of ${own}, less that of ${name}.` },
      figures: figures(changeOf, "ns"),
      cell: (row, written) => withSign(changeOf(row), written),
    },
    {
      id: "matched",
      label: "Matched by",
      meaning: "Why two kernels stand for each other, or in which of the two the kernel is.",
      width: "88px",
      cell: ({ matched_by }) => <span {...hint(MATCHES[matched_by].meaning)}>{MATCHES[matched_by].label}</span>,
      order: ({ matched_by }) => Object.keys(MATCHES).indexOf(matched_by),
    },
  ];
}

/** What is too small for its column has none. */
function withSign(change: number, written: string): string {
  if (written.includes("<")) return written.replace(/^-/, "");
  return change > 0 ? `+${written}` : written;
}

function Names({ row: { base_name, candidate_name, base_short, candidate_short } }: { row: KernelChange }) {
  const before = base_name !== null && <span {...hint(base_name)}>{base_short}</span>;
  const after = candidate_name !== null && <span {...hint(candidate_name)}>{candidate_short}</span>;
  if (base_name === candidate_name) return before;
  return (
    <>
      {before}
      {before && after && " → "}
      {after}
    </>
  );
}

const Op = ({ op, shapes }: Pick<KernelChange, "op" | "shapes">) =>
  op === null ? DASH : <span {...hint(shapes ? `${op}, inputs ${shapes}` : op)}>{op}</span>;

function tableOf(rows: readonly KernelChange[], { name, own }: Pair): TableData {
  return {
    columns: [
      { label: `Kernel of ${name}` },
      { label: `Kernel of ${own}` },
      { label: "Op" },
      { label: "Input shapes" },
      { label: "Module" },
      { label: "Calls before", unit: "number" },
      { label: "Calls after", unit: "number" },
      { label: "Before", unit: "ns" },
      { label: "After", unit: "ns" },
      { label: "Change", unit: "ns" },
      { label: "Matched by" },
    ],
    rows: rows.map((row) => [
      row.base_name ?? "",
      row.candidate_name ?? "",
      row.op ?? "",
      row.shapes,
      row.module ?? "",
      row.base_calls,
      row.candidate_calls,
      row.base_ns,
      row.candidate_ns,
      changeOf(row),
      MATCHES[row.matched_by].label,
    ]),
  };
}
