/** Choosing one of a picture's stops (steps, spans, rows) by pointer or keyboard. */

export interface Pointing {
  /** While the pointer or the focus is there. */
  light(stop: number | null): void;
  /** Kept after both are gone; null drops it. */
  keep(stop: number | null): void;
}

/** Pixels from the left edge of the picture that listens. */
export function pointerX(event: { clientX: number; currentTarget: EventTarget | null }): number {
  return event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
}

/** The stop nearest to x. `xs` ascends. */
export function nearest(xs: readonly number[], x: number): number | null {
  if (xs.length === 0) return null;
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle]! <= x) low = middle;
    else high = middle;
  }
  return Math.abs(x - xs[low]!) <= Math.abs(xs[high]! - x) ? low : high;
}

/** The stop after a key, or undefined where the key is not for moving. */
export function moved(key: string, at: number | null, count: number): number | undefined {
  if (count === 0) return undefined;
  switch (key) {
    case "ArrowRight":
      return at === null ? 0 : Math.min(count - 1, at + 1);
    case "ArrowLeft":
      return at === null ? count - 1 : Math.max(0, at - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}

/** Arrow keys move, Enter keeps, Esc drops. */
export function typed(event: KeyboardEvent, at: number | null, count: number, { light, keep }: Pointing): void {
  const next = moved(event.key, at, count);
  if (next !== undefined) light(next);
  else if (event.key === "Enter" || event.key === " ") keep(at);
  else if (event.key === "Escape") drop(light, keep);
  else return;
  event.preventDefault();
}

function drop(light: Pointing["light"], keep: Pointing["keep"]): void {
  light(null);
  keep(null);
}
