/**
 * Columns of figures: a column and its siblings share one unit, and totals are either per mean step or over all steps.
 * What the reader chose of both applies to every table.
 */

import type { Unit } from "../api.gen";
import { count, type Scale } from "../format";
import { scaleOf, type TimeUnit } from "../scale";

/** Whether totals are per mean step or over all recorded steps. */
export type Totals = "step" | "recording";

/** How the reader wants figures to be given. */
export interface Reading {
  totals: Totals;
  /** The number of recorded steps, by which totals are divided. */
  steps: number;
  unit: TimeUnit;
}

/** How figures are given where the reader chose nothing. */
export const PLAIN: Reading = { totals: "step", steps: 1, unit: "auto" };

export interface Figures<Row> {
  of(row: Row): number | null;
  unit: Unit;
  /** What `of` returns where the figure adds up over the steps: the sum over all steps, or the mean of one. */
  adds?: Totals;
  /** Columns with the same word here are compared with each other and share a unit. */
  siblings?: string;
}

/** The factor that converts a column's figures to the totals that the reader wants. */
export function factorOf(adds: Totals | undefined, { totals, steps }: Reading): number {
  if (adds === undefined || adds === totals) return 1;
  return totals === "step" ? 1 / Math.max(1, steps) : steps;
}

export type Write = (value: number | null) => string;

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

/** How often something happens: a mean below ten has one decimal, others have none. */
export function counts(value: number): string {
  const fine = Math.round(10 * value) / 10;
  if (value < 10 && !Number.isInteger(fine)) return fine.toFixed(1);
  return value > 0 && fine === 0 ? "<0.1" : count(Math.round(value));
}

const times = (value: number | null, factor: number): number | null => (value === null ? null : value * factor);

/** What the totals refer to: "a step", "in 6 steps". */
export function totalsText({ totals, steps }: Reading): string {
  return totals === "step" || steps <= 1 ? "a step" : `in ${count(steps)} steps`;
}
