/** Choices that several views share, as they stand in the address. */

import type { Changes, UrlState } from "../state";

/** Parts of the step that the legend hides, in every stacked picture. */
export function hiddenParts(state: UrlState): ReadonlySet<string> {
  return new Set((state["off"] ?? "").split(",").filter((part) => part !== ""));
}

export function keysOfHidden(off: ReadonlySet<string>): Changes {
  return { off: off.size === 0 ? null : [...off].join(",") };
}

/** The kept step's place among `names`; null where none is kept, or it is another span's. */
export function keptStep(state: UrlState, names: readonly string[]): number | null {
  const at = names.indexOf(state["step"] ?? "");
  return at < 0 ? null : at;
}

/** The runs of Trends that the address names, of those that there are; none: all are shown. */
export function namedRuns(state: UrlState, runs: readonly string[]): readonly string[] {
  const named = new Set(state["runs"]?.split(BETWEEN_RUNS));
  return runs.filter((run) => named.has(run));
}

export const keyOfRuns = (runs: readonly string[]): string => runs.join(BETWEEN_RUNS);

/** The one character that no name of a folder holds in practice. */
const BETWEEN_RUNS = "\n";

/** The run that Trends speaks of: the one that was chosen, where it is among those shown; null: the last. */
export function focusRun(state: UrlState, shown: readonly string[]): string | null {
  return state["run"] !== undefined && shown.includes(state["run"]) ? state["run"] : null;
}
