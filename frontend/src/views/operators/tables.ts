/** Ops as the server groups them: which table is shown, which of its rows, and what is left out. */

import { sum } from "d3-array";
import type { OperatorRest, OperatorRow, OperatorsResult, OperatorTable } from "../../api.gen";
import { lineName, shortName } from "../../code_line";
import { matchingRows } from "../../components/filter";
import type { Compared, Titles, ViewPart } from "../props";

type By = OperatorTable["by"];
export type Where = OperatorTable["where"];

export interface Grouping {
  /** The value of OperatorTable.by, also used in the address. */
  id: By;
  label: string;
  meaning: string;
  /** Header of the second column. */
  second: string;
}

const ALL: readonly [Grouping, ...Grouping[]] = [
  { id: "name", label: "Op", meaning: "A row for each op.", second: "" },
  { id: "shape", label: "Shapes", meaning: "A row for each op and the shapes of its inputs.", second: "Shapes" },
  { id: "module", label: "Module", meaning: "A row for each op and the module that it runs in.", second: "Module" },
  { id: "line", label: "Line", meaning: "A row for each op and the line of your code.", second: "Line" },
  { id: "stack", label: "Stack", meaning: "A row for each op and its call stack.", second: "Call stack" },
  { id: "phase", label: "Phase", meaning: "A row for each op and the phase of the step.", second: "Phase" },
];

/** The groupings for which something is recorded. */
export const groupingsOf = ({ tables }: OperatorsResult): readonly Grouping[] =>
  ALL.filter(({ id }) => tables.some(({ by }) => by === id));

export const groupingOf = (result: OperatorsResult, id: string | undefined): Grouping =>
  groupingsOf(result).find((each) => each.id === id) ?? ALL[0];

const NOTHING: OperatorTable = {
  by: "name",
  where: "ran",
  rows: [],
  rest: { rows: 0, calls: 0, host_self_ns: 0, runtime_ns: 0, device_self_ns: null, allocated_self_bytes: null },
};

export const tableOf = ({ tables }: OperatorsResult, id: By, where: Where): OperatorTable =>
  tables.find((table) => table.by === id && table.where === where) ?? NOTHING;

export const knowsWhere = ({ tables }: OperatorsResult): boolean => tables.some(({ where }) => where === "made");

export const keyOf = (row: OperatorRow): string => `${row.name}\n${row.key ?? ""}`;

/** Rows whose op or second key matches the typed text. */
export const matching = (rows: readonly OperatorRow[], typed: string): readonly OperatorRow[] =>
  matchingRows(rows, typed, ({ name, key }) => [name, key]);

/** The sum of the rows of the whole table that are not shown. */
export function restOf({ rows, rest }: OperatorTable, shown: readonly OperatorRow[]): OperatorRest {
  const lacks = (of: (row: OperatorRow) => number) => sum(rows, of) - sum(shown, of);
  const device = rest.device_self_ns !== null || rows.some((row) => row.device_self_ns !== null);
  return {
    rows: rest.rows + rows.length - shown.length,
    calls: rest.calls + lacks((row) => row.calls),
    host_self_ns: rest.host_self_ns + lacks((row) => row.host_self_ns),
    runtime_ns: rest.runtime_ns + lacks((row) => row.runtime_ns),
    device_self_ns: device ? (rest.device_self_ns ?? 0) + lacks((row) => row.device_self_ns ?? 0) : null,
    allocated_self_bytes: knowsMemory(rows)
      ? (rest.allocated_self_bytes ?? 0) + lacks((row) => row.allocated_self_bytes ?? 0)
      : null,
  };
}

export const knowsMemory = (rows: readonly Pick<OperatorRow, "allocated_bytes">[]): boolean =>
  rows.some((row) => row.allocated_bytes !== null);

/** The lowest and highest possible share of a row's kernel time on tensor cores; null where it has no kernel time. */
export function tensorShares(
  row: Pick<OperatorRow, "kernel_ns" | "tensor_ns" | "unknown_ns">,
): [number, number] | null {
  const { kernel_ns: whole, tensor_ns: low, unknown_ns: open } = row;
  return whole && low !== null && open !== null ? [low / whole, (low + open) / whole] : null;
}

/** Shapes without the inputs that have none: "[512] [141, 512]". */
export function shapesText(key: string): string {
  const inputs = [...key.slice(1, -1).matchAll(/\[[^[\]]+\]/g)].map(([shape]) => shape.replaceAll(",", ", "));
  return inputs.length > 0 ? inputs.join(" ") : "no tensors";
}

/** The separator between the frames of a call stack. */
const FRAMES = ";";

/** A second key, shortened to fit a cell. */
export function shortKey({ id }: Grouping, key: string): string {
  if (id === "shape") return shapesText(key);
  if (id === "line") return shortName(key);
  return id === "stack" ? key.split(FRAMES).map(shortName).join(" < ") : key;
}

/** The full key; frames of a call stack are on lines of their own. */
export const wholeKey = ({ id }: Grouping, key: string): string =>
  id === "stack" ? key.split(FRAMES).map(lineName).join("\n") : id === "line" ? lineName(key) : key;

export interface OperatorPart extends ViewPart {
  result: OperatorsResult;
  /** The titles above the tables, which also say what is missing. */
  titles: Titles;
  compared: Compared<"operators"> | null;
}
