/** The user's choices that several views share, as the address contains them. */

import { useState } from "preact/hooks";
import type { Address, Changes, SortKey } from "../address/keys";
import { compareKey, selected, selections } from "../address/selection";
import type { EvidenceRow, Insight, RunEntry, SpanHead } from "../api.gen";
import type { StopSelection } from "../charts/pointer/pointing";
import type { TableChoice } from "../components/columns_menu";
import { type Reading, totalsText } from "../components/figures";
import { lengthOf, type TimeRange } from "../time_range";
import type { Tab } from "./props";
import { sameWork } from "./works";

const NONE: ReadonlySet<string> = new Set();

/** Parts of the step that the legend hides, in every stacked picture. */
export const hiddenParts = (state: Address): ReadonlySet<string> => state.off ?? NONE;

export const keysOfHidden = (off: ReadonlySet<string>): Changes => ({ off: off.size === 0 ? null : off });

/** Index of the selected step among `names`; null where none is selected, or it belongs to another span. */
export function selectedStep(state: Address, names: readonly string[]): number | null {
  const at = names.indexOf(state.step ?? "");
  return at < 0 ? null : at;
}

/** Index of the selected step, else of the step of median length, which is a typical one. */
export function shownStep(
  steps: readonly { name: string; start_ns: number; end_ns: number }[],
  state: Address,
): number {
  const selected = steps.findIndex((step) => step.name === state.step);
  if (selected >= 0) return selected;
  const byLength = steps.map((step, at) => [step.end_ns - step.start_ns, at] as const).sort((a, b) => a[0] - b[0]);
  return byLength[Math.floor((byLength.length - 1) / 2)]?.[1] ?? 0;
}

/** The runs of Trends that the address names, as far as they exist; empty: the default ones. */
export function namedRuns(state: Address, runs: readonly string[]): readonly string[] {
  const named = new Set(state.runs);
  return runs.filter((run) => named.has(run));
}

/** More lines than this cannot be told apart, and their names would make the address too long. */
const MOST_ALIKE = 100;

/** The default runs of Trends: the open run and those of the same work, limited to the newest. */
export function usualRuns({ index, state, works }: Pick<Tab, "index" | "state" | "works">): readonly string[] {
  const open = selected(index, state)?.run.name;
  if (open === undefined || !works?.has(open)) return index.runs.map(({ name }) => name);
  const comparable = index.runs.filter(({ name }) => sameWork(works, name, open));
  const newest = [...comparable].sort((a, b) => recordedOf(b) - recordedOf(a)).slice(0, MOST_ALIKE);
  const listed = new Set([open, comparedRun({ index, state }), ...newest.map(({ name }) => name)]);
  return index.runs.flatMap(({ name }) => (listed.has(name) ? [name] : []));
}

/** When the newest span of a run was recorded, ns since 1970; 0 for a run without spans. */
export const recordedOf = ({ workers }: RunEntry): number =>
  Math.max(0, ...workers.flatMap(({ spans }) => spans.map((span) => span.recorded_ns)));

export const comparedRun = ({ index, state }: Pick<Tab, "index" | "state">): string | null =>
  state.with === undefined
    ? null
    : (selections(index).find((each) => compareKey(each) === state.with)?.run.name ?? null);

/** The runs of Trends, in the order of the index. Null: it is not yet known which runs compute the same. */
export function trendRuns(tab: Pick<Tab, "index" | "state" | "works">): readonly string[] | null {
  const all = tab.index.runs.map(({ name }) => name);
  const named = namedRuns(tab.state, all);
  if (named.length > 0) return named;
  if (tab.state.among === "all") return all;
  return tab.works === null ? null : usualRuns(tab);
}

/** The run that Trends is about: the chosen one, where it is among those shown; null: the last. */
export function focusRun(state: Address, shown: readonly string[]): string | null {
  return state.run !== undefined && shown.includes(state.run) ? state.run : null;
}

/** How the reader wants figures: per step or for the recording, and in which unit. */
export const readingOf = ({ state, steps }: Pick<Tab, "state" | "steps">): Reading => ({
  totals: state.totals ?? "step",
  steps,
  unit: state.unit ?? "auto",
});

/** What the totals of a table refer to: "a step", "in 6 steps". */
export const totalsOf = (tab: Pick<Tab, "state" | "steps">): string => totalsText(readingOf(tab));

/** The order of a table's rows, its columns and units, kept in the address. */
export const sorting = (tab: Tab, key: SortKey, initial?: string) => ({
  sort: tab.state[key] ?? initial,
  onSort: (sort: string) => tab.update({ [key]: sort }),
  choice: choiceOf(tab, key),
});

function choiceOf(tab: Tab, key: SortKey): TableChoice {
  const { state, update } = tab;
  const chosenColumns = state.columns ?? NONE;
  const without = (column: string) => [...chosenColumns].filter((each) => each.slice(1) !== `${key}.${column}`);
  const keep = (columns: readonly string[]) => update({ columns: columns.length > 0 ? new Set(columns) : null });
  return {
    reading: readingOf(tab),
    wants: (column) =>
      chosenColumns.has(`+${key}.${column}`) ? true : chosenColumns.has(`-${key}.${column}`) ? false : undefined,
    want: (column, shown) => keep([...without(column), `${shown ? "+" : "-"}${key}.${column}`]),
    choose: ({ totals, unit }) =>
      update({
        ...(totals && { totals: totals === "step" ? null : totals }),
        ...(unit && { unit: unit === "auto" ? null : unit }),
      }),
    reset: () => keep([...chosenColumns].filter((each) => !each.slice(1).startsWith(`${key}.`))),
  };
}

/** The step for all pictures of a view; the selected one is kept in the address. */
export function useStepSelection({ state, update }: Tab): StopSelection {
  const [hovered, hover] = useState<string | null>(null);
  const selected = state.step ?? null;
  return { hovered, selected, hover, select: (key) => update({ step: key === selected ? null : key }) };
}

/** "step 8"; a recording that is taken as one step has no name of its own for it. */
export const stepText = (name: string, by: SpanHead["steps_by"]): string =>
  by === "recording" ? "the recording" : `step ${name}`;

/** The zoom range in the address, where it is within a step or a span; the zoom of another span is not. */
export function zoomWithin({ zoom }: Address, whole: TimeRange): TimeRange | null {
  return zoom && zoom.from >= whole.from && zoom.to <= Math.ceil(whole.to) && lengthOf(zoom) > 0 ? zoom : null;
}

/** The row of a view's table that a card links to, as the address names it and as the table finds it. */
export const markOf = (row: EvidenceRow | null): string | null => row && `${row.table}:${row.key}`;

/** Opens the view with a card's evidence: its step is selected, its row marked, and no filter hides it. */
export const evidenceKeys = ({ view, steps, row }: Insight, { step }: Address): Changes => ({
  view,
  step: steps[0] ?? step ?? null,
  mark: markOf(row),
  ...(row && { by: null, kernel: null, could: null, calls: null, device: null }),
});

/** Makes a table mark that row: `named` returns what the card calls a row, `rowKey` what the table does. */
export function marking<Row>(
  { mark }: Address,
  table: string,
  rows: readonly Row[],
  named: (row: Row) => string,
  rowKey: (row: Row) => string | number,
): { marked?: string | number } {
  const row = mark?.startsWith(`${table}:`) && rows.find((each) => `${table}:${named(each)}` === mark);
  return row ? { marked: rowKey(row) } : {};
}

/** How a card names a row in a table of ops by their inputs. */
export const namedByOp = (op: string | null, shapes: string | null): string =>
  [op, shapes].filter((each) => each).join(" ");
