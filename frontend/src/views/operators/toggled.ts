/** The set with this in it, or without it where it was. */
export function toggled<T>(one: T, all: ReadonlySet<T>): ReadonlySet<T> {
  const next = new Set(all);
  if (!next.delete(one)) next.add(one);
  return next;
}
