/**
 * Columns of figures: one unit for a column and its siblings, and totals either of a mean step or of all steps. What
 * the reader chose of both holds for every table.
 */

import type { Unit } from "../api.gen";
import { count, type Scale } from "../format";
import { scaleOf, type TimeUnit } from "../scale";

/** Whether totals are given for a mean step or for all steps that are recorded. */
export type Totals = "step" | "recording";

/** How the reader wants figures. */
export interface Reading {
  totals: Totals;
  /** Steps that are recorded, by which totals are divided. */
  steps: number;
  unit: TimeUnit;
}

/** As figures come where nobody chose anything. */
export const PLAIN: Reading = { totals: "step", steps: 1, unit: "auto" };

/** What a column's figures are. */
export interface Figures<Row> {
  of(row: Row): number | null;
  unit: Unit;
  /** What `of` gives where it adds up over the steps: the sum of all steps, or the mean of one. */
  adds?: Totals;
  /** Columns with the same word here are compared with each other and have one unit. */
  siblings?: string;
}

/** What the figures of a column are multiplied by, so that they are what the reader wants. */
export function factorOf(adds: Totals | undefined, { totals, steps }: Reading): number {
  if (adds === undefined || adds === totals) return 1;
  return totals === "step" ? 1 / Math.max(1, steps) : steps;
}

/** Writes a figure as `of` gives it. */
export type Write = (value: number | null) => string;

/** By column: how its figures are written. */
export function writersOf<Row>(
  columns: readonly { id: string; figures?: Figures<Row> }[],
  rows: readonly Row[],
  reading: Reading,
): ReadonlyMap<string, Write> {
  const groups = new Map<string, { values: (number | null)[]; unit: Unit; parts: boolean }>();
  const keyOf = (id: string, { siblings, unit }: Figures<Row>) => (siblings ? `${siblings} ${unit}` : `column ${id}`);
  for (const { id, figures } of columns) {
    if (!figures) continue;
    const factor = factorOf(figures.adds, reading);
    const group = groups.get(keyOf(id, figures)) ?? { values: [], unit: figures.unit, parts: false };
    group.parts ||= figures.adds !== undefined;
    for (const row of rows) group.values.push(times(figures.of(row), factor));
    groups.set(keyOf(id, figures), group);
  }
  const scales = new Map(
    [...groups].map(([key, { values, unit, parts }]) => [key, scaleOf(values, unit, reading.unit, parts)]),
  );
  return new Map(
    columns.flatMap(({ id, figures }) =>
      figures ? [[id, writer(figures, scales.get(keyOf(id, figures))!, reading)] as const] : [],
    ),
  );
}

function writer<Row>({ adds, unit }: Figures<Row>, scale: Scale, reading: Reading): Write {
  const factor = factorOf(adds, reading);
  if (adds !== undefined && (unit === "count" || unit === "number")) {
    return (value) => (value === null ? scale.text(null) : counts(value * factor));
  }
  return (value) => scale.text(times(value, factor));
}

/** How often something happens: means below ten have one decimal, others none. */
export function counts(value: number): string {
  const fine = Math.round(10 * value) / 10;
  if (value < 10 && !Number.isInteger(fine)) return fine.toFixed(1);
  return value > 0 && fine === 0 ? "<0.1" : count(Math.round(value));
}

const times = (value: number | null, factor: number): number | null => (value === null ? null : value * factor);

/** Of what the totals are: "a step", "in 6 steps"; nothing where one step is all there is. */
export function totalsText({ totals, steps }: Reading): string {
  return totals === "step" || steps <= 1 ? "a step" : `in ${count(steps)} steps`;
}
