/** Choosing one of a picture's stops (steps, spans, rows) by pointer or keyboard. */

import { bisectCenter } from "d3-array";
import { sentenceOf, type TipContent } from "./tip";

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

/** How a picture whose stops arrow keys choose speaks: as a slider over them, whose value is what the tip says. */
const NONE = "Nothing chosen. Arrow keys choose.";

/**
 * at: which of `count` stops is chosen, from 0; null: none. content: what is there.
 *
 * A picture holds no elements for a screen reader to walk through, and `img` says that nothing can be done with it.
 */
export function slider(
  label: string,
  at: number | null,
  count: number,
  content: TipContent | null,
  orientation: "horizontal" | "vertical" = "horizontal",
) {
  return {
    role: "slider",
    tabindex: 0, // as written: attributes of an SVG have one spelling, and "tabIndex" is not it
    "aria-label": label,
    "aria-orientation": orientation,
    "aria-valuemin": 0,
    "aria-valuemax": Math.max(1, Math.round(count)),
    "aria-valuenow": at === null ? 0 : Math.round(at) + 1,
    "aria-valuetext": content === null ? NONE : sentenceOf(content),
  } as const;
}
