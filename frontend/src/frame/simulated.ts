import { shortNames } from "../address/short_names";
import type { Index } from "../api.gen";

/** Names in a note. */
const MOST_NAMED = 6;

/** A picture of many runs says which of them nobody recorded. among: those that it shows. */
export function simulatedRuns({ runs }: Index, among: readonly string[]): string | null {
  const shown = runs.filter(({ name }) => among.includes(name));
  const labels = shortNames(shown.map(({ name }) => name));
  const names = shown.filter(({ simulated }) => simulated).map(({ name }) => labels.get(name)!);
  const more = names.length - MOST_NAMED;
  if (names.length === 0) return null;
  const rest = more > 0 ? ` and ${more} more` : "";
  return `These runs come from a simulator: ${names.slice(0, MOST_NAMED).join(", ")}${rest}.`;
}
