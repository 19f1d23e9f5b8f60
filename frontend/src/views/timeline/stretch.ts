/** A stretch of time in sight, ns from the span's origin, and how zooming and panning change it. */

export interface Stretch {
  from: number;
  to: number;
}

/** Nothing is recorded more finely; closer than this there is nothing to see. */
const LEAST_NS = 100;

/** Of a step's length, how much of its neighbours shows beside it. */
const BESIDE = 0.02;

export const lengthOf = ({ from, to }: Stretch): number => to - from;

/** The stretch within `whole`: moved in before it is cut, so that its length holds. */
export function within({ from, to }: Stretch, whole: Stretch): Stretch {
  const length = Math.min(lengthOf(whole), Math.max(LEAST_NS, to - from));
  const start = Math.min(Math.max(whole.from, from - (length - (to - from)) / 2), whole.to - length);
  return { from: start, to: start + length };
}

/** `factor` under 1 goes closer. What lies at `at` stays where it is. */
export function zoomed(seen: Stretch, at: number, factor: number, whole: Stretch): Stretch {
  const length = Math.min(lengthOf(whole), Math.max(LEAST_NS, lengthOf(seen) * factor));
  const share = (at - seen.from) / lengthOf(seen);
  return within({ from: at - share * length, to: at + (1 - share) * length }, whole);
}

export const panned = (seen: Stretch, by_ns: number, whole: Stretch): Stretch =>
  within({ from: seen.from + by_ns, to: seen.to + by_ns }, whole);

/** A stretch with a little of what lies beside it. */
export function withNeighbours(stretch: Stretch, whole: Stretch): Stretch {
  const beside = BESIDE * lengthOf(stretch);
  return within({ from: stretch.from - beside, to: stretch.to + beside }, whole);
}

/** Moved, and only where needed made wider, so that `wanted` lies in it with room at its sides. */
export function showing(seen: Stretch, wanted: Stretch, whole: Stretch): Stretch {
  if (wanted.from >= seen.from && wanted.to <= seen.to) return seen;
  const length = Math.max(lengthOf(seen), 1.25 * lengthOf(wanted));
  const middle = (wanted.from + wanted.to) / 2;
  return within({ from: middle - length / 2, to: middle + length / 2 }, whole);
}

/** Close enough to read what is around it. */
export function around(wanted: Stretch, whole: Stretch): Stretch {
  const beside = Math.max(LEAST_NS, lengthOf(wanted));
  return within({ from: wanted.from - beside, to: wanted.to + beside }, whole);
}

export const touches = (a: Stretch, b: Stretch): boolean => a.from < b.to && b.from < a.to;

/** Pixels for nanoseconds and back, in a picture that begins at `left`. */
export interface Ruler {
  left: number;
  width: number;
  x(ns: number): number;
  ns(x: number): number;
  ns_per_px: number;
}

export function ruler(seen: Stretch, left: number, width: number): Ruler {
  const per = lengthOf(seen) / Math.max(1, width - left);
  return {
    left,
    width,
    ns_per_px: per,
    x: (ns) => left + (ns - seen.from) / per,
    ns: (x) => seen.from + (x - left) * per,
  };
}

/** As the address writes it: whole nanoseconds. */
export const written = ({ from, to }: Stretch): string => `${Math.round(from)}-${Math.round(to)}`;

/** A hand-edited address may hold anything; a trace's times may be negative. */
export function read(zoom: string | undefined, whole: Stretch): Stretch | null {
  const [, from, to] = /^(-?\d+)-(-?\d+)$/.exec(zoom ?? "") ?? [];
  const asked = { from: Number(from), to: Number(to) };
  return asked.to > asked.from && touches(asked, whole) ? within(asked, whole) : null;
}
