/** The order of the experiments: as they were recorded, or as the reader has put them. */

/** With the one at `from` at place `to`; the others keep their order. */
export function movedTo<T>(all: readonly T[], from: number, to: number): readonly T[] {
  const others = all.filter((_, at) => at !== from);
  return [...others.slice(0, to), all[from]!, ...others.slice(to)];
}
