/** Choosing one of a picture's stops (steps, spans, rows) by pointer or keyboard. */

import { bisectCenter } from "d3-array";

export interface Pointing {
  /** While the pointer or the focus is there; null: it left. */
  hover(stop: number | null): void;
  /** Stays after both are gone; null drops it. */
  select(stop: number | null): void;
  /** Leads to what the stop stands for, by a double click or Enter; without it Enter selects as Space does. */
  open?: ((stop: number) => void) | undefined;
}

/** Pixels from the left edge of the picture that listens. */
export function pointerX(event: { clientX: number; currentTarget: EventTarget | null }): number {
  return event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
}

/** Pixels from its top. */
export function pointerY(event: { clientY: number; currentTarget: EventTarget | null }): number {
  return event.clientY - (event.currentTarget as Element).getBoundingClientRect().top;
}

/** The stop nearest to x. `xs` ascends. */
export const nearest = (xs: readonly number[], x: number): number | null =>
  xs.length === 0 ? null : bisectCenter(xs, x);

/** The stop after a key, or undefined where the key is not for moving. */
export function moved(key: string, at: number | null, count: number): number | undefined {
  if (count === 0) return undefined;
  switch (key) {
    case "ArrowRight":
    case "ArrowUp":
      return at === null ? 0 : Math.min(count - 1, at + 1);
    case "ArrowLeft":
    case "ArrowDown":
      return at === null ? count - 1 : Math.max(0, at - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}

/** Arrow keys move, Space selects, Enter opens, Esc drops. */
export function typed(event: KeyboardEvent, at: number | null, count: number, { hover, select, open }: Pointing): void {
  const next = moved(event.key, at, count);
  if (next !== undefined) hover(next);
  else if (event.key === "Enter" && open && at !== null) open(at);
  else if (event.key === "Enter" || event.key === " ") select(at);
  else if (event.key === "Escape") {
    hover(null);
    select(null);
  } else return;
  event.preventDefault();
}
