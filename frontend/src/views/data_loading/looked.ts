/** What rests on the batches that the recorder looked at, and how it is said that these are not all. */

import { count, counted } from "../../format";
import { BOUND } from "./making";

/** As of a worker or of all of them; `few_looked` is the server's to judge. */
export interface Looked {
  batches: number;
  looked: number;
  kind: string | null;
  few_looked: boolean;
}

/** What holds up who makes batches: "I/O-bound", "est. I/O-bound" where few tell. */
export function boundOf({ kind, few_looked: few }: Pick<Looked, "kind" | "few_looked">): string | null {
  return kind === null ? null : `${few ? "est. " : ""}${BOUND[kind] ?? kind}`;
}

/** Of which batches a figure is; undefined where it is of all. */
export function lookedAt({ batches, looked }: Looked): string | undefined {
  if (looked >= batches) return undefined;
  return looked === 0
    ? "No batch of it was looked at"
    : `Of ${count(looked)} of its ${counted(batches, "batch", "batches")}: the others were not looked at`;
}

/** Below the figures of several workers; null where all batches were looked at. */
export function lookedInAll(rows: readonly Looked[]): string | null {
  const { looked, batches } = summed(rows);
  if (looked >= batches) return null;
  if (looked === 0) return "CPU, No core and Limit are not known: no batch was looked at.";
  const few = rows.some((row) => row.few_looked && row.kind !== null) ? "; est. where these are few" : "";
  return `CPU, No core and Limit are of ${count(looked)} of ${counted(batches, "batch", "batches")}, which were looked at${few}.`;
}

export const summed = (rows: readonly Looked[]) => ({
  looked: sum(rows.map((row) => row.looked)),
  batches: sum(rows.map((row) => row.batches)),
});

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
