/** Which runs compute the same, as the server found it in their recordings, and what is usual among those. */

import { inRun, type Selection } from "../address/selection";
import type { Index, RunLine } from "../api.gen";

/** The number of the work by run; a run of which that is not known is missing. */
export type Works = ReadonlyMap<string, number>;

export const worksOf = (lines: readonly RunLine[]): Works =>
  new Map(lines.flatMap(({ run, work }) => (work === null ? [] : [[run, work] as const])));

/** Null: it is not known of one of them. */
export function sameWork(works: Works | null, one: string, other: string): boolean | null {
  const [a, b] = [works?.get(one), works?.get(other)];
  return a === undefined || b === undefined ? null : a === b;
}

/** What a run is held against unless the reader says otherwise: the one of the same work before it, or after. */
export function usualBase({ runs }: Index, chosen: Selection, works: Works | null): Selection | null {
  const alike = runs
    .filter(({ name }) => name !== chosen.run.name && sameWork(works, name, chosen.run.name))
    .flatMap((run) => inRun(run, chosen) ?? [])
    .filter(({ span }) => span.state === "ready")
    .sort((a, b) => a.span.recorded_ns - b.span.recorded_ns);
  return alike.filter(({ span }) => span.recorded_ns <= chosen.span.recorded_ns).at(-1) ?? alike[0] ?? null;
}
