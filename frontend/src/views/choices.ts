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
