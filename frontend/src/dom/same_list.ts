import { useRef } from "preact/hooks";

/** The list of before where the new one holds the same things, by `of`: what is made of it is then not made again. */
export function useSameList<T>(list: readonly T[], of: (each: T) => unknown = (each) => each): readonly T[] {
  const before = useRef(list);
  const known = before.current;
  const same = known.length === list.length && list.every((each, at) => of(each) === of(known[at]!));
  if (!same) before.current = list;
  return before.current;
}
