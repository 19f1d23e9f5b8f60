/** A range of time visible, ns from the span's origin: how zooming and panning change it, and where it is drawn. */

export interface TimeRange {
  from: number;
  to: number;
}

/** Nothing is recorded more finely: zooming in further would show nothing new. */
const MIN_NS = 100;

/** How much of a step's neighbours is shown as well, as a share of the step's length. */
const NEIGHBOUR_FRACTION = 0.02;

export const lengthOf = ({ from, to }: TimeRange): number => to - from;

/** The range of something that the server gives with its start and end. */
export const rangeOf = ({ start_ns, end_ns }: { start_ns: number; end_ns: number }): TimeRange => ({
  from: start_ns,
  to: end_ns,
});

export const outward = ({ from, to }: TimeRange): TimeRange => ({ from: Math.floor(from), to: Math.ceil(to) });

export const middleOf = ({ from, to }: TimeRange): number => (from + to) / 2;

/** Fits a range into `whole`: it is moved before it is cut, so that it keeps its length where possible. */
export function within({ from, to }: TimeRange, whole: TimeRange): TimeRange {
  const length = Math.min(lengthOf(whole), Math.max(MIN_NS, to - from));
  const start = Math.min(Math.max(whole.from, from - (length - (to - from)) / 2), whole.to - length);
  return { from: start, to: start + length };
}

/** A `factor` under 1 zooms in. The instant `at` keeps its place in the picture. */
export function zoomed(visible: TimeRange, at: number, factor: number, whole: TimeRange): TimeRange {
  const length = Math.min(lengthOf(whole), Math.max(MIN_NS, lengthOf(visible) * factor));
  const share = (at - visible.from) / lengthOf(visible);
  return within({ from: at - share * length, to: at + (1 - share) * length }, whole);
}

export const panned = (visible: TimeRange, by_ns: number, whole: TimeRange): TimeRange =>
  within({ from: visible.from + by_ns, to: visible.to + by_ns }, whole);

/** The range with a little of what is on either side. */
export function withNeighbours(range: TimeRange, whole: TimeRange): TimeRange {
  const margin = NEIGHBOUR_FRACTION * lengthOf(range);
  return within({ from: range.from - margin, to: range.to + margin }, whole);
}

/** Moves the picture, and widens it only where needed, so that `wanted` is in it with room on both sides. */
export function showing(visible: TimeRange, target: TimeRange, whole: TimeRange): TimeRange {
  if (target.from >= visible.from && target.to <= visible.to) return visible;
  const length = Math.max(lengthOf(visible), 1.25 * lengthOf(target));
  const middle = middleOf(target);
  return within({ from: middle - length / 2, to: middle + length / 2 }, whole);
}

/** A range close enough around `wanted` to read what surrounds it. */
export function around(target: TimeRange, whole: TimeRange): TimeRange {
  const margin = Math.max(MIN_NS, lengthOf(target));
  return within({ from: target.from - margin, to: target.to + margin }, whole);
}

export const touches = (a: TimeRange, b: TimeRange): boolean => a.from < b.to && b.from < a.to;

/** The range that the address gives, as far as it is within this recording; null where none of it is. */
export const visibleOf = (zoom: TimeRange | undefined, whole: TimeRange): TimeRange | null =>
  zoom && zoom.to > zoom.from && touches(zoom, whole) ? within(zoom, whole) : null;

/** Converts nanoseconds to pixels and back, in a picture that starts at `left` and ends at `width`. */
export interface TimeScale {
  left: number;
  width: number;
  ns_per_px: number;
  x(ns: number): number;
  ns(x: number): number;
  /** The same, limited to the edges of the picture. */
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
