/** What could move to the tensor cores: which rows are shown, and the sum of those that are not. */

import type { DeviceSplit, Opportunity } from "../../api.gen";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";

/** Rows that contain the typed text, in any case, in op, shapes, types, kernel or reason. */
export function holding(rows: readonly Opportunity[], typed: string, meanings: Meanings): readonly Opportunity[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return rows;
  return rows.filter((row) =>
    [row.op, row.shapes, row.dtypes, row.kernel, row.short, sentence(meanings.explain(row.why)), row.setting].some(
      (text) => text?.toLowerCase().includes(wanted),
    ),
  );
}

/** Null where the server had no data to compute it from: its formula then has no figures. */
export const gainOf = (row: Opportunity): number | null =>
  Object.keys(row.formula.values).length === 0 ? null : row.gain_ns;

export interface Left {
  count: number;
  ns: number;
  gain_ns: number;
}

/** Launches that are in none of the shown rows: folded by the server, or filtered away. */
export function leftOf(device: DeviceSplit, shown: readonly Opportunity[]): Left {
  const sum = (of: (row: Opportunity) => number) =>
    device.opportunities.reduce((total, row) => total + of(row), 0) - shown.reduce((total, row) => total + of(row), 0);
  return {
    count: device.opportunities_more_count + sum((row) => row.count),
    ns: device.opportunities_more_ns + sum((row) => row.total_ns),
    gain_ns: device.opportunities_more_gain_ns + sum((row) => row.gain_ns),
  };
}

/** "1024×512, 512×256, float": operands without a shape are left out, a type that all share is written once. */
export function inputsOf(shapes: string | null, dtypes: string | null): string {
  const sizes = listOf(shapes)
    .map(sizeOf)
    .filter((size) => size !== "");
  const types = new Set(
    listOf(dtypes)
      .filter((type): type is string => typeof type === "string" && type !== "")
      .map((type) => type.replace(/^c10::/, "")),
  );
  return [...sizes, ...[...types].filter((type) => !NOT_TENSORS.has(type))].join(", ");
}

/** What the profiler writes in place of a type for numbers and lists. */
const NOT_TENSORS: ReadonlySet<string> = new Set(["Scalar", "ScalarList", "TensorList", "GenericList"]);

/** "64×32"; empty for a scalar, nested lists (lists of tensors) in brackets. */
function sizeOf(shape: unknown): string {
  if (!Array.isArray(shape)) return "";
  if (shape.some(Array.isArray)) return `[${shape.map(sizeOf).join(", ")}]`;
  return shape.join("×");
}

/** Empty where the text is not a list: an older profiler truncates long ones. */
function listOf(json: string | null): readonly unknown[] {
  try {
    const read: unknown = JSON.parse(json ?? "[]");
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}
