import { useLayoutEffect, useRef } from "preact/hooks";

/** The newest of a value that changes with each drawing, for effects and timers that outlive the drawing. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  useLayoutEffect(() => {
    latest.current = value;
  });
  return latest;
}
