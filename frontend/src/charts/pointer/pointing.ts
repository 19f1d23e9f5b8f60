/** Choosing one of a picture's stops (steps, spans, rows) by pointer or keyboard. */

import { bisectCenter } from "d3-array";
import { sentenceOf, type TipContent } from "./tip";

export interface Pointing {
  /** Called while the pointer, at a height, or the focus is on a stop; null: it left. */
  hover(stop: number | null, y?: number): void;
  /** The selection stays after pointer and focus are gone; null clears it. Absent: no stop can be selected. */
  select?: ((stop: number | null) => void) | undefined;
  /** Opens what the stop stands for, on a double click or Enter; without it Enter selects, like Space. */
  open?: ((stop: number) => void) | undefined;
}

/** The stop of several pictures, by its key: hovered while the pointer is on it, selected after a click. */
export interface StopSelection {
  /** The stop under the pointer or the focus, in whichever picture. */
  hovered: string | null;
  selected: string | null;
  hover(key: string | null): void;
  /** Selecting the same key again clears the selection. */
  select(key: string | null): void;
}

/** The pointer's distance from the left edge of the listening picture, px. */
export function pointerX(event: { clientX: number; currentTarget: EventTarget | null }): number {
  return event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
}

/** The pointer's distance from the top edge of the picture, px. */
export function pointerY(event: { clientY: number; currentTarget: EventTarget | null }): number {
  return event.clientY - (event.currentTarget as Element).getBoundingClientRect().top;
}

/** The index of the first stop of a kind; null where there is none. */
export function indexOf<Stop>(stops: readonly Stop[], isIt: (stop: Stop) => boolean): number | null {
  const at = stops.findIndex(isIt);
  return at < 0 ? null : at;
}

/** The stop nearest to x. `xs` ascends. */
export const nearest = (xs: readonly number[], x: number): number | null =>
  xs.length === 0 ? null : bisectCenter(xs, x);

/** The stop that a key moves to, or undefined where the key does not move. */
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

/** Arrow keys move, Space selects, Enter opens, Esc clears. */
export function typed(event: KeyboardEvent, at: number | null, count: number, { hover, select, open }: Pointing): void {
  const next = moved(event.key, at, count);
  if (next !== undefined) hover(next);
  else if (event.key === "Enter" && open && at !== null) open(at);
  else if (select && (event.key === "Enter" || event.key === " ")) select(at);
  else if (event.key === "Escape") {
    hover(null);
    select?.(null);
  } else return;
  event.preventDefault();
}

/** A picture whose stops are chosen by arrow keys is announced as a slider, whose value is the text of the tip. */
const NONE = "Nothing chosen. Arrow keys choose.";

/**
 * at: index of the chosen one of `count` stops, from 0; null: none. content: the text about that stop.
 *
 * A picture contains no elements that a screen reader could go through, and the role `img` would tell it that the
 * picture is not interactive.
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
    tabindex: 0, // lower case: SVG attributes are case-sensitive, and "tabIndex" is not one of them
    "aria-label": label,
    "aria-orientation": orientation,
    "aria-valuemin": 0,
    "aria-valuemax": Math.max(1, Math.round(count)),
    "aria-valuenow": at === null ? 0 : Math.round(at) + 1,
    "aria-valuetext": content === null ? NONE : sentenceOf(content),
  } as const;
}
