/** A range of time visible, ns from the span's origin: how zooming and panning change it, and where it is drawn. */

export interface TimeRange {
  from: number;
  to: number;
}

/** Nothing is recorded more finely; closer than this there is nothing to see. */
const MIN_NS = 100;

/** Of a step's length, how much of its neighbours is shown as well. */
const NEIGHBOUR_FRACTION = 0.02;

export const lengthOf = ({ from, to }: TimeRange): number => to - from;

export const middleOf = ({ from, to }: TimeRange): number => (from + to) / 2;

/** The range within `whole`: moved in before it is cut, so that its length holds. */
export function within({ from, to }: TimeRange, whole: TimeRange): TimeRange {
  const length = Math.min(lengthOf(whole), Math.max(MIN_NS, to - from));
  const start = Math.min(Math.max(whole.from, from - (length - (to - from)) / 2), whole.to - length);
  return { from: start, to: start + length };
}

/** `factor` under 1 goes closer. What lies at `at` stays where it is. */
export function zoomed(visible: TimeRange, at: number, factor: number, whole: TimeRange): TimeRange {
  const length = Math.min(lengthOf(whole), Math.max(MIN_NS, lengthOf(visible) * factor));
  const share = (at - visible.from) / lengthOf(visible);
  return within({ from: at - share * length, to: at + (1 - share) * length }, whole);
}

export const panned = (visible: TimeRange, by_ns: number, whole: TimeRange): TimeRange =>
  within({ from: visible.from + by_ns, to: visible.to + by_ns }, whole);

/** A range with a little of what lies at either side. */
export function withNeighbours(range: TimeRange, whole: TimeRange): TimeRange {
  const margin = NEIGHBOUR_FRACTION * lengthOf(range);
  return within({ from: range.from - margin, to: range.to + margin }, whole);
}

/** Moved, and only where needed made wider, so that `wanted` lies in it with room at its sides. */
export function showing(visible: TimeRange, wanted: TimeRange, whole: TimeRange): TimeRange {
  if (wanted.from >= visible.from && wanted.to <= visible.to) return visible;
  const length = Math.max(lengthOf(visible), 1.25 * lengthOf(wanted));
  const middle = middleOf(wanted);
  return within({ from: middle - length / 2, to: middle + length / 2 }, whole);
}

/** Close enough to read what is around it. */
export function around(wanted: TimeRange, whole: TimeRange): TimeRange {
  const margin = Math.max(MIN_NS, lengthOf(wanted));
  return within({ from: wanted.from - margin, to: wanted.to + margin }, whole);
}

export const touches = (a: TimeRange, b: TimeRange): boolean => a.from < b.to && b.from < a.to;

/** What the address asks for, as far as it lies in this recording; null where none of it does. */
export const visibleOf = (asked: TimeRange | undefined, whole: TimeRange): TimeRange | null =>
  asked && asked.to > asked.from && touches(asked, whole) ? within(asked, whole) : null;

/** Pixels for nanoseconds and back, in a picture that begins at `left` and ends at `width`. */
export interface TimeScale {
  left: number;
  width: number;
  ns_per_px: number;
  x(ns: number): number;
  ns(x: number): number;
  /** The same, no further than the edges of the picture. */
  clampedX(ns: number): number;
  clampedNs(x: number): number;
}

export function timeScale(visible: TimeRange, left: number, width: number): TimeScale {
  const ns_per_px = (lengthOf(visible) || 1) / Math.max(1, width - left);
  const x = (ns: number) => left + (ns - visible.from) / ns_per_px;
  const ns = (px: number) => visible.from + (px - left) * ns_per_px;
  return {
    left,
    width,
    ns_per_px,
    x,
    ns,
    clampedX: (at) => Math.max(left, Math.min(width, x(at))),
    clampedNs: (px) => ns(Math.max(left, Math.min(width, px))),
  };
}
