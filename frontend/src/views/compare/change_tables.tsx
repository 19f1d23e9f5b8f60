/** Kernels, ops, blocking calls and copies of both runs, the largest change first: one table at a time. */

import { useMemo } from "preact/hooks";
import type { ChangeTable, RowChange } from "../../api.gen";
import { Chips } from "../../components/chips";
import type { TableData } from "../../components/data_table";
import type { Figures } from "../../components/figures";
import { Filter } from "../../components/filter";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { hint } from "../../dom/hint";
import { count, counted, DASH, type Scale, scaleFor } from "../../format";
import { sorting } from "../choices";
import type { Pair, Tab } from "../props";
import { isKind, KINDS, type Kind, MATCHES, movedNs, TABLES, type TableId } from "./change_words";
import { signed } from "./difference";
import { bareInterval, intervalText } from "./interval";

export function ChangeTables({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { tables } = pair.found.comparison;
  const shown = tables.find(({ of }) => of === tab.state.table) ?? tables[0];
  return shown === undefined ? null : <Changes shown={shown} pair={pair} tab={tab} />;
}

function Changes({ shown, pair, tab }: { shown: ChangeTable; pair: Pair; tab: Tab }) {
  const { of, rows: all, more } = shown;
  const { tables } = pair.found.comparison;
  const kind = isKind(tab.state.moved) ? tab.state.moved : "all";
  const typed = tab.state.kernel ?? "";
  const ofKind = useMemo(() => all.filter(KINDS[kind].has), [all, kind]);
  const rows = useMemo(() => matching(ofKind, typed), [ofKind, typed]);
  const columns = useMemo(() => changeColumns(of, pair, all), [of, pair, all]);
  return (
    <Picture
      title={titleOf(shown)}
      sub={more > 0 ? `a step; the ${count(all.length)} that changed most` : "a step; most change first"}
      name={`${of} by change ${pair.own} ${pair.name}`}
      table={() => changeData(of, rows, pair)}
      link={() => tab.address()}
      drawn={false}
      tools={
        <Filter
          label="Filter by name, op or module"
          placeholder="Filter names"
          typed={typed}
          change={(kernel) => tab.update({ kernel })}
          shown={rows.length}
          all={ofKind.length}
        />
      }
    >
      {tables.length > 1 && (
        <Chips
          label="What is compared"
          name="Of"
          chosen={of}
          options={tables.map((each) => ({ id: each.of, label: TABLES[each.of].label }))}
          choose={(table) => tab.update({ table: table === tables[0]!.of ? null : table })}
        />
      )}
      <Chips
        label={`Which ${TABLES[of].label.toLowerCase()}`}
        name="Show"
        chosen={kind}
        options={(Object.keys(KINDS) as Kind[]).map((id) => ({
          id,
          label: `${KINDS[id].label} ${count(all.filter(KINDS[id].has).length)}`,
          meaning: KINDS[id].meaning,
        }))}
        choose={(moved) => tab.update({ moved: moved === "all" ? null : moved })}
      />
      <Table
        label={`${TABLES[of].label} by change`}
        columns={columns}
        rows={rows}
        rowKey={keyOf}
        maxRows={14}
        {...sorting(tab, "changes")}
        empty={typed ? "Nothing here matches." : `No such ${TABLES[of].label.toLowerCase()}.`}
      />
    </Picture>
  );
}

function titleOf({ of, rows, more }: ChangeTable): string {
  const all = rows.length + more;
  return of === "copies" ? "Which copies changed?" : `Which of ${counted(all, TABLES[of].one)} changed?`;
}

/** Two rows never have the same place on both sides. */
const keyOf = (row: RowChange): string => JSON.stringify(row);

function matching(rows: readonly RowChange[], typed: string): readonly RowChange[] {
  const words = typed.trim().toLowerCase();
  if (words === "") return rows;
  return rows.filter(({ base_name, candidate_name, op, module, source }) =>
    [base_name, candidate_name, op, module, source].some((each) => each?.toLowerCase().includes(words)),
  );
}

/** The columns of a table of changes: what a row is, where it is, and what became of its calls and its time. */
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
  cell: (row) => <Names row={row} />,
  order: (row) => row.base_short ?? row.candidate_short,
});

function placeColumns(of: TableId, { found }: Pair): RowColumn[] {
  const op: RowColumn = {
    ...{ id: "op", label: "Op", width: "124px", missing: "It is in no op." },
    cell: ({ op: name, shapes }) => <Op op={name} shapes={shapes} />,
    order: (row) => row.op,
  };
  const module: RowColumn = {
    ...{ id: "module", label: "Module", width: "124px", extra: true },
    cell: (row) => row.module ?? DASH,
    missing: "No module is recorded: with_modules or with_stack of torch.profiler record them.",
    order: (row) => row.module,
  };
  const phase: RowColumn = {
    ...{ id: "phase", label: "Phase", width: "92px" },
    cell: (row) => (row.phase === null ? DASH : (found.labels[row.phase] ?? row.phase)),
    order: (row) => row.phase,
  };
  const source: RowColumn = {
    ...{ id: "source", label: "Source", width: "148px", extra: true },
    cell: (row) => (row.source === null ? DASH : <span {...hint(row.source)}>{row.source}</span>),
    missing: "No line is recorded: with_stack of torch.profiler records them.",
    order: (row) => row.source,
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
      figures: figures(movedNs, "ns"),
      cell: (row, written) => <Moved row={row} written={withSign(movedNs(row), written)} scale={scale} />,
    },
    {
      ...{ id: "interval", label: "95 % interval", width: "150px", numeric: true, extra: true },
      meaning: "Of the change. Where it holds 0, the change is not distinguishable from noise.",
      cell: (row) => bareInterval(row, scale) || DASH,
      missing: "One side has too few steps to say.",
      order: ({ low }) => low,
    },
  ];
}

const MATCHED: RowColumn = {
  id: "matched",
  label: "Matched by",
  meaning: "Why two rows stand for each other, or in which of the two the row is.",
  width: "88px",
  cell: ({ matched_by }) => <span {...hint(MATCHES[matched_by].meaning)}>{MATCHES[matched_by].label}</span>,
  order: ({ matched_by }) => Object.keys(MATCHES).indexOf(matched_by),
};

const figures = (of: Figures<RowChange>["of"], unit: "ns" | "number"): Figures<RowChange> => ({
  of,
  unit,
  adds: "step",
  siblings: "both",
});

const callsColumn = (id: "base_calls" | "candidate_calls", label: string, of: string, not: string): RowColumn => ({
  ...{ id, label, width: "92px", meaning: `How often a step of ${of}.` },
  figures: figures((row) => (row.status === not ? null : row[id]), "number"),
});

const timeColumn = (id: "base_ns" | "candidate_ns", label: string, meaning: string, not: string): RowColumn => ({
  ...{ id, label, width: "92px", meaning },
  figures: figures((row) => (row.status === not ? null : row[id]), "ns"),
});

/** What is too small for its column has none. */
function withSign(change: number, written: string): string {
  if (written.includes("<")) return written.replace(/^-/, "");
  return change > 0 ? `+${written}` : written;
}

function Moved({ row, written, scale }: { row: RowChange; written: string; scale: Scale }) {
  const interval = intervalText(row, scale);
  const said = interval === "" ? `${signed(movedNs(row), scale)}; too few steps for an interval` : `95 %: ${interval}`;
  const noise = row.status === "alike" ? "; no more than noise" : "";
  return (
    <span class={row.status === "alike" ? "faint" : undefined} {...hint(`${said}${noise}`)}>
      {written}
    </span>
  );
}

function Names({ row: { base_name, candidate_name, base_short, candidate_short } }: { row: RowChange }) {
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

const Op = ({ op, shapes }: Pick<RowChange, "op" | "shapes">) =>
  op === null ? DASH : <span {...hint(shapes ? `${op}, inputs ${shapes}` : op)}>{op}</span>;

/** All that is known of the rows. */
function changeData(of: TableId, rows: readonly RowChange[], { name, own }: Pair): TableData {
  const words = TABLES[of].name;
  const texts = [`${words} of ${name}`, `${words} of ${own}`, "Op", "Input shapes", "Module", "Source", "Phase"];
  return {
    columns: [
      ...texts.map((label) => ({ label })),
      { label: "Calls before", unit: "number" },
      { label: "Calls after", unit: "number" },
      ...["Before", "After", "Change", "95 % from", "95 % to"].map((label) => ({ label, unit: "ns" as const })),
      { label: "Matched by" },
    ],
    rows: rows.map((row) => [
      ...[row.base_name, row.candidate_name, row.op, row.shapes, row.module, row.source, row.phase].map(
        (each) => each ?? "",
      ),
      ...[row.base_calls, row.candidate_calls, row.base_ns, row.candidate_ns, movedNs(row), row.low, row.high],
      MATCHES[row.matched_by].label,
    ]),
  };
}
