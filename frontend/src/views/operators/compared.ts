/** The other span next to this one: the same op or module in both, matched by name, second key or path. */

import { WHOLE_RECORDING } from "../../address/selection";
import type { ModuleRow, OperatorRow, OperatorsResult } from "../../api.gen";
import type { Lacking } from "../compare/compared_columns";
import type { Compared } from "../props";
import { pathsOf } from "./module_lines";
import { type Grouping, keyOf, type OperatorPart, shortKey, tableOf, type Where } from "./tables";

/** How the spans are called, what the times refer to, and the steps by which they are divided. */
const saidOf = ({ name, own, page }: Compared<"operators">, { result, tab }: OperatorPart) => ({
  ...{ name, own, per: tab.state.steps === WHOLE_RECORDING ? "in the recording" : "a step" },
  steps: [result.steps.length, page.result.steps.length] as const,
});

/** Times are on the GPU where both spans have one. */
const onDevice = (result: OperatorsResult, other: OperatorsResult): boolean => result.has_device && other.has_device;

const aStep = (ns: number, { steps }: OperatorsResult): number => ns / Math.max(1, steps.length);

/** Compares the ops of both spans; null where the other one has no such table. */
export function comparedOps(part: OperatorPart, grouping: Grouping, where: Where) {
  const { result, compared } = part;
  const other = compared?.page.result;
  const table = other && tableOf(other, grouping.id, where);
  if (!compared || !table || table.rows.length === 0) return null;
  const device = onDevice(result, other);
  const of = (row: OperatorRow) => (device ? (row.device_self_ns ?? 0) : row.host_self_ns + row.runtime_ns);
  const own = tableOf(result, grouping.id, where);
  const names = saidOf(compared, part);
  const here = new Set(own.rows.map(keyOf));
  const lacking = table.rows
    .filter((row) => !here.has(keyOf(row)))
    .map((row): Lacking => ({ name: nameOf(row, grouping), ns: aStep(of(row), other) }));
  return {
    columns: {
      rows: own.rows,
      others: table.rows,
      keyOf,
      ns: of,
      ...names,
      figure: device ? "GPU self" : "Self time on the CPU, with runtime calls",
      whole: table.rest.rows === 0,
    },
    only: { rows: lacking, whole: own.rest.rows === 0, ...names },
  };
}

const nameOf = (row: OperatorRow, grouping: Grouping): string =>
  row.key === null ? row.name : `${row.name}, ${shortKey(grouping, row.key)}`;

/**
 * Compares modules by path, which lists the names from the outermost module to their own. A row that the table may have
 * cut off is not reported as missing.
 */
export function comparedModules(part: OperatorPart, single: boolean) {
  const { result, compared } = part;
  const other = compared?.page.result;
  const [rows, others] = [rowsOf(result, single), other ? rowsOf(other, single) : []];
  if (!compared || !other || others.length === 0) return null;
  const device = onDevice(result, other);
  const of = (row: ModuleRow) => wholeOf(row, device);
  const names = saidOf(compared, part);
  const [here, there] = [pathsOf(rows), pathsOf(others)];
  const paths = new Set(here);
  const lacking = others.flatMap((row, at): Lacking[] =>
    paths.has(there[at]!) || (row.parent >= 0 && !paths.has(there[row.parent]!))
      ? []
      : [{ name: there[at]!, ns: aStep(of(row), other) }],
  );
  const path = new Map([
    ...rows.map((row, at) => [row, here[at]!] as const),
    ...others.map((row, at) => [row, there[at]!] as const),
  ]);
  return {
    columns: {
      rows,
      others,
      keyOf: (row: ModuleRow) => path.get(row)!,
      ns: of,
      ...names,
      figure: device ? "GPU time of forward and backward" : "CPU time of forward and backward",
      whole: other.more_modules === 0,
    },
    only: { rows: lacking, whole: result.more_modules === 0, ...names },
  };
}

export type ComparedModules = NonNullable<ReturnType<typeof comparedModules>>;

const rowsOf = (result: OperatorsResult, single: boolean): readonly ModuleRow[] =>
  single ? result.modules : result.folded;

/** Forward and backward time, including the modules inside. */
export const wholeOf = (row: ModuleRow, device: boolean): number =>
  device ? (row.device_total_ns ?? 0) + (row.backward_device_ns ?? 0) : row.host_total_ns + row.backward_host_ns;
