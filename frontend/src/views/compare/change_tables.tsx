/** Kernels, ops, blocking calls and copies of both runs, the largest change first: one table at a time. */

import { useMemo } from "preact/hooks";
import type { ChangeTable, RowChange } from "../../api.gen";
import { lineName } from "../../code_line";
import { Chips } from "../../components/chips";
import type { Figures } from "../../components/figures";
import { Filter, matchingRows, Unmatched } from "../../components/filter";
import { type Column, fileFields } from "../../components/table";
import { count, counted, DASH, type Scale, scaleFor } from "../../format";
import type { Pair, Tab } from "../props";
import { TablePicture } from "../table_picture";
import { bareInterval, changeOf, intervalText, signed } from "./difference";

type MatchedBy = RowChange["matched_by"];
type TableId = ChangeTable["of"];

/** name: the label of the column that says what a row is; time: what its time means. */
interface TableWords {
  label: string;
  one: string;
  name: string;
  time: string;
}

const TABLES: Readonly<Record<TableId, TableWords>> = {
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
const MATCHES: Readonly<Record<MatchedBy, { label: string; meaning: string }>> = {
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

type Kind = "all" | "changed" | "new" | "gone" | "renamed";

interface KindWords {
  label: string;
  meaning: string;
  has(row: RowChange): boolean;
}

const KINDS: Readonly<Record<Kind, KindWords>> = {
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

const isKind = (id: string | undefined): id is Kind => id !== undefined && Object.hasOwn(KINDS, id);

/** Whether any of its rows differs by more than noise. */
export const isChanged = ({ rows }: ChangeTable): boolean => rows.some(({ status }) => status !== "alike");

export function ChangeTables({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { tables } = pair.found.comparison;
  const shown = tables.find(({ of }) => of === tab.state.table) ?? tables.find(isChanged) ?? tables[0];
  return shown === undefined ? null : <Changes shown={shown} pair={pair} tab={tab} />;
}

function Changes({ shown, pair, tab }: { shown: ChangeTable; pair: Pair; tab: Tab }) {
  const { of, rows: all, more } = shown;
  const { tables } = pair.found.comparison;
  const kind = isKind(tab.state.moved) ? tab.state.moved : "all";
  const typed = tab.state.kernel ?? "";
  const type = (kernel: string | null) => tab.update({ kernel });
  const ofKind = useMemo(() => all.filter(KINDS[kind].has), [all, kind]);
  const rows = useMemo(() => matching(ofKind, typed), [ofKind, typed]);
  const columns = useMemo(() => changeColumns(of, pair, all), [of, pair, all]);
  return (
    <TablePicture
      title={titleOf(shown)}
      sub={more > 0 ? `a step; the ${count(all.length)} that changed most` : "a step; most change first"}
      name={`${of} by change ${pair.own} ${pair.name}`}
      tools={
        <Filter
          label="Filter by name, op or module"
          placeholder="Filter names"
          typed={typed}
          change={type}
          shown={rows.length}
          all={ofKind.length}
        />
      }
      above={
        <>
          {tables.length > 1 && (
            <Chips
              label="What is compared"
              name="Of"
              chosen={of}
              options={tables.map((each) => ({ id: each.of, label: TABLES[each.of].label }))}
              choose={(table) => tab.update({ table })}
            />
          )}
          <Chips
            label={`Which ${TABLES[of].label.toLowerCase()}`}
            name="Show"
            chosen={kind}
            options={(Object.keys(KINDS) as Kind[])
              .map((id) => ({ ...KINDS[id], id, found: all.filter(KINDS[id].has).length }))
              .filter(({ id, found }) => found > 0 || id === kind)
              .map(({ found, ...each }) => ({ ...each, label: `${each.label} ${count(found)}` }))}
            choose={(moved) => tab.update({ moved: moved === "all" ? null : moved })}
          />
        </>
      }
      label={`${TABLES[of].label} by change`}
      columns={columns}
      rows={rows}
      rowKey={keyOf}
      maxRows={10}
      order="changes"
      tab={tab}
      empty={typed ? <Unmatched typed={typed} change={type} /> : `No such ${TABLES[of].label.toLowerCase()}.`}
    />
  );
}

function titleOf({ of, rows, more }: ChangeTable): string {
  const all = rows.length + more;
  return of === "copies" ? "Which copies changed?" : `Which of ${counted(all, TABLES[of].one)} changed?`;
}

/** No two rows have the same place on both sides. */
const keyOf = (row: RowChange): string => JSON.stringify(row);

const matching = (rows: readonly RowChange[], typed: string): readonly RowChange[] =>
  matchingRows(rows, typed, (row) => [row.base_name, row.candidate_name, row.op, row.module, row.source]);

/** The columns of a table of changes: what a row is, where it is, and how its calls and its time changed. */
type RowColumn = Column<RowChange>;

function changeColumns(of: TableId, pair: Pair, rows: readonly RowChange[]): RowColumn[] {
  const scale = scaleFor(
    Math.max(1, ...rows.map(({ base_ns, candidate_ns }) => Math.max(base_ns, candidate_ns))),
    "ns",
  );
  return [nameColumn(of, pair), ...placeColumns(of, pair), ...figureColumns(of, pair, scale), MATCHED];
}

const nameColumn = (of: TableId, { name, own }: Pair): RowColumn => ({
  id: "name",
  label: TABLES[of].name,
  meaning: `Of ${name}, and of ${own} where another stands for it.`,
  cell: (row) => bothOf(row, row.base_short, row.candidate_short),
  hint: (row) => bothOf(row, row.base_name, row.candidate_name),
  order: (row) => row.base_short ?? row.candidate_short,
  file: fileFields<RowChange>({
    base_name: `${TABLES[of].name} of ${name}`,
    candidate_name: `${TABLES[of].name} of ${own}`,
    op: "Op",
    shapes: "Input shapes",
    module: "Module",
    source: "Source",
    phase: "Phase",
  }),
});

function placeColumns(of: TableId, { found }: Pair): RowColumn[] {
  const op: RowColumn = {
    ...{ id: "op", label: "Op", width: "124px", missing: "It is in no op." },
    hint: (row) => (row.op !== null && row.shapes ? `${row.op}, inputs ${row.shapes}` : row.op),
    order: (row) => row.op,
    file: [], // the column of the name contains all places
  };
  const module: RowColumn = {
    ...{ id: "module", label: "Module", width: "124px", extra: true },
    missing: "No module is recorded: with_modules or with_stack of torch.profiler record them.",
    order: (row) => row.module,
    file: [],
  };
  const phase: RowColumn = {
    ...{ id: "phase", label: "Phase", width: "92px" },
    cell: (row) => (row.phase === null ? DASH : (found.labels[row.phase] ?? row.phase)),
    order: (row) => row.phase,
    file: [],
  };
  const source: RowColumn = {
    ...{ id: "source", label: "Source", width: "148px", extra: true },
    cell: (row) => row.source && lineName(row.source),
    hint: (row) => row.source && lineName(row.source),
    missing: "No line is recorded: with_stack of torch.profiler records them.",
    order: (row) => row.source,
    file: [],
  };
  const places: Readonly<Record<TableId, RowColumn[]>> = {
    kernels: [op, module],
    ops: [],
    blocking: [op, phase, source],
    copies: [op, phase],
  };
  return places[of];
}

function figureColumns(of: TableId, { name, own }: Pair, scale: Scale): RowColumn[] {
  const { time } = TABLES[of];
  return [
    callsColumn("base_calls", "Calls before", name, "new"),
    callsColumn("candidate_calls", "Calls after", own, "gone"),
    timeColumn("base_ns", "Before", `${time} a step of ${name}.`, "new"),
    timeColumn("candidate_ns", "After", `${time} a step of ${own}.`, "gone"),
    {
      ...{ id: "change", label: "Change", width: "92px", meaning: `Time a step of ${own}, less that of ${name}.` },
      figures: figures(changeOf, "ns"),
      cell: (row, written) => (
        <span class={row.status === "alike" ? "faint" : undefined}>{withSign(changeOf(row), written)}</span>
      ),
      hint: (row) => accuracyOf(row, scale),
    },
    {
      ...{ id: "interval", label: "95 % interval", width: "150px", numeric: true, extra: true },
      meaning: "Of the change. Where it holds 0, the change is not distinguishable from noise.",
      cell: (row) => bareInterval(row, scale) || DASH,
      missing: "One side has too few steps to say.",
      order: ({ low }) => low,
      file: fileFields<RowChange>({ low: "95 % from", high: "95 % to" }, "ns"),
    },
  ];
}

const MATCHED: RowColumn = {
  id: "matched",
  label: "Matched by",
  meaning: "Why two rows stand for each other, or in which of the two the row is.",
  width: "88px",
  prose: ({ matched_by }) => ({ text: MATCHES[matched_by].label, more: MATCHES[matched_by].meaning }),
  order: ({ matched_by }) => Object.keys(MATCHES).indexOf(matched_by),
  file: [{ label: "Matched by", of: ({ matched_by }) => MATCHES[matched_by].label }],
};

const figures = (of: Figures<RowChange>["of"], unit: "ns" | "number"): Figures<RowChange> => ({
  of,
  unit,
  adds: "step",
  siblings: "both",
});

const callsColumn = (id: "base_calls" | "candidate_calls", label: string, of: string, not: string): RowColumn => ({
  ...{ id, label, width: "92px", meaning: `Calls per step of ${of}.` },
  figures: figures((row) => (row.status === not ? null : row[id]), "number"),
  file: fileFields<RowChange>({ [id]: label }, "number"),
});

const timeColumn = (id: "base_ns" | "candidate_ns", label: string, meaning: string, not: string): RowColumn => ({
  ...{ id, label, width: "92px", meaning },
  figures: figures((row) => (row.status === not ? null : row[id]), "ns"),
  file: fileFields<RowChange>({ [id]: label }, "ns"),
});

/** A change that is too small for its column gets no sign. */
function withSign(change: number, written: string): string {
  if (written.includes("<")) return written.replace(/^-/, "");
  return change > 0 ? `+${written}` : written;
}

function accuracyOf(row: RowChange, scale: Scale): string {
  const interval = intervalText(row, scale);
  const known =
    interval === "" ? `${signed(changeOf(row), scale)}; too few steps for an interval` : `95 %: ${interval}`;
  return row.status === "alike" ? `${known}; no more than noise` : known;
}

/** The name, long or short, or where another one stands for it, both. */
const bothOf = (row: RowChange, before: string | null, after: string | null): string | null =>
  row.base_name === row.candidate_name ? before : [before, after].filter((name) => name !== null).join(" → ");
