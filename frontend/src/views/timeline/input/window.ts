/**
 * The window of the overview: what of the whole recording is visible, moved and resized by pointer and keys.
 *
 *     ......[====|====]......        from, move, to; elsewhere a drag marks a new one
 */

import { lengthOf, middleOf, panned, type TimeRange, within, zoomed } from "../../../time_range";

export type Grip = "from" | "to" | "move" | "new";

/** An edge this near is taken hold of, outside the window; inside it no more than a quarter is the edge's. */
const REACH_PX = 7;

/** A window cannot be made shorter by its edges than this share of all. */
const LEAST_SHARE = 1e-5;

/** What a press at `x` takes hold of; the window reaches from `left` to `right`. All in px. */
export function gripAt(x: number, left: number, right: number): Grip {
  const inside = Math.min(REACH_PX, (right - left) / 4);
  if (x < left - REACH_PX || x > right + REACH_PX) return "new";
  if (x < left + inside) return "from";
  return x > right - inside ? "to" : "move";
}

/** The window after a drag from `start` to `now`, both ns. */
export function draggedTo(grip: Grip, window: TimeRange, start: number, now: number, whole: TimeRange): TimeRange {
  const least = LEAST_SHARE * lengthOf(whole);
  switch (grip) {
    case "from":
      return { from: Math.max(whole.from, Math.min(now, window.to - least)), to: window.to };
    case "to":
      return { from: window.from, to: Math.min(whole.to, Math.max(now, window.from + least)) };
    case "move":
      return panned(window, now - start, whole);
    case "new":
      return within({ from: Math.min(start, now), to: Math.max(start, now) }, whole);
    default:
      return grip satisfies never;
  }
}

/** The same length, around an instant. */
export const centredAt = (window: TimeRange, ns: number, whole: TimeRange): TimeRange =>
  panned(window, ns - middleOf(window), whole);

/** Of its own length, how far one press of a key moves the window. */
const STRIDE = 0.1;
const CLOSER = 1 / 1.3;

/** Null: the key is the browser's. With Shift the arrows move the window's end and not the window. */
export function typedWindow(key: string, shift: boolean, window: TimeRange, whole: TimeRange): TimeRange | null {
  const stride = STRIDE * lengthOf(window);
  const by = (ns: number) => (shift ? draggedTo("to", window, 0, window.to + ns, whole) : panned(window, ns, whole));
  switch (key) {
    case "ArrowRight":
      return by(stride);
    case "ArrowLeft":
      return by(-stride);
    case "ArrowUp":
    case "+":
      return zoomed(window, middleOf(window), CLOSER, whole);
    case "ArrowDown":
    case "-":
      return zoomed(window, middleOf(window), 1 / CLOSER, whole);
    case "PageUp":
      return panned(window, -lengthOf(window), whole);
    case "PageDown":
      return panned(window, lengthOf(window), whole);
    case "Home":
      return panned(window, whole.from - window.from, whole);
    case "End":
      return panned(window, whole.to - window.to, whole);
    default:
      return null;
  }
}
