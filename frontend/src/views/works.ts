/** Which runs compute the same, as the server determined from their recordings, and the default choices among those. */

import { inRun, type Selection } from "../address/selection";
import type { Index, RunLine } from "../api.gen";

/** The number of the work by run; runs whose work is not known are missing. */
export type Works = ReadonlyMap<string, number>;

export const worksOf = (lines: readonly RunLine[]): Works =>
  new Map(lines.flatMap(({ run, work }) => (work === null ? [] : [[run, work] as const])));

/** Null: the work of one of them is not known. */
export function sameWork(works: Works | null, one: string, other: string): boolean | null {
  const [a, b] = [works?.get(one), works?.get(other)];
  return a === undefined || b === undefined ? null : a === b;
}

/** The default run to compare with: the previous one of the same work, else the next. */
export function usualBase({ runs }: Index, chosen: Selection, works: Works | null): Selection | null {
  const comparable = runs
    .filter(({ name }) => name !== chosen.run.name && sameWork(works, name, chosen.run.name))
    .flatMap((run) => inRun(run, chosen) ?? [])
    .filter(({ span }) => span.state === "ready")
    .sort((a, b) => a.span.recorded_ns - b.span.recorded_ns);
  return comparable.filter(({ span }) => span.recorded_ns <= chosen.span.recorded_ns).at(-1) ?? comparable[0] ?? null;
}
