/** What the user chose, as several views share it and as it stands in the address. */

import type { Changes, UrlState } from "../address/url";
import { useState } from "preact/hooks";
import type { Tab } from "./props";
import { zoomKey } from "../charts/time/time_bins";

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

export interface Chosen {
  /** Under the pointer or the focus, in whichever picture. */
  lit: string | null;
  kept: string | null;
  light(key: string | null): void;
  /** The same a second time drops it. */
  keep(key: string | null): void;
}

export function useChosen(tab: Tab): Chosen {
  const [pointed, setPointed] = useState<string | null>(null);
  const kept = tab.state["step"] ?? null;
  return {
    lit: pointed,
    kept,
    light: setPointed,
    keep: (key) => tab.update({ step: key === kept ? null : key }),
  };
}

/** A stretch of time, ns from the span's origin, and the step in which it begins. */
export interface Stretch {
  step: string;
  start_ns: number;
  end_ns: number;
}

/** What stands on either side of the stretch, as a share of its length: what led to it and what followed. */
const MARGIN = 0.25;

/** A shorter window would show a single call and nothing around it. */
const LEAST_NS = 20_000;

export function keysOfStretch({ step, start_ns: start, end_ns: end }: Stretch): Changes {
  const margin = Math.max(MARGIN * (end - start), (LEAST_NS - (end - start)) / 2);
  return { view: "timeline", step, zoom: zoomKey([Math.max(0, start - margin), end + margin]) };
}
