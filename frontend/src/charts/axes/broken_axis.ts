/**
 * An axis with breaks: what lies between two spans was not recorded and takes no room. Each segment is as wide as what
 * it
 * holds.
 *
 *     |--5--6--7--8--9--10--/ /--16--17--18--19--20--21--|
 */

export interface Extent {
  from: number;
  /** At least `from`; in the same unit in all segments. */
  to: number;
}

export interface BrokenAxis {
  x(segment: number, at: number): number;
  /** Left and right edge of each segment. */
  edges: readonly (readonly [number, number])[];
  /** Pixels of a break. */
  gap: number;
  /** Pixels of one unit. */
  pace: number;
}

/** A break that shows as one. */
const GAP = 14;

/** Breaks never take more of the axis than this: a thousand spans are then one line. */
const GAPS_FRACTION = 0.25;

/** `pad` is the room before the first and after the last point of a segment, in the segments' unit. */
export function brokenAxis(segments: readonly Extent[], left: number, right: number, pad: number): BrokenAxis {
  const breaks = Math.max(0, segments.length - 1);
  const gap = breaks === 0 ? 0 : Math.min(GAP, (GAPS_FRACTION * (right - left)) / breaks);
  const units = segments.reduce((sum, { from, to }) => sum + (to - from) + 2 * pad, 0);
  const pace = units > 0 ? (right - left - breaks * gap) / units : 0;
  const edges: [number, number][] = [];
  let start = left;
  for (const { from, to } of segments) {
    const end = start + (to - from + 2 * pad) * pace;
    edges.push([start, end]);
    start = end + gap;
  }
  return { edges, gap, pace, x: (segment, at) => edges[segment]![0] + (at - segments[segment]!.from + pad) * pace };
}
