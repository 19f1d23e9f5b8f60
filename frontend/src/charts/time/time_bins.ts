/** A figure in time bins, at several resolutions: which resolution a picture needs, and how bins become what it draws. */

export interface Bins {
  /** Start of the first bin, ns. */
  start: number;
  bin: number;
  /** null: the figure has no meaning there. */
  values: readonly (number | null)[];
}

export interface Cell {
  from: number;
  to: number;
  value: number | null;
}

/**
 * The bins within [low, high] as at most `most` cells of at least a bin each. Time without a value counts neither for
 * nor against a cell; a cell of nothing else has no value.
 */
export function cells({ start, bin, values }: Bins, low: number, high: number, most: number): Cell[] {
  const end = Math.min(high, start + bin * values.length);
  const begin = Math.max(low, start);
  const width = Math.max(bin, (high - low) / Math.max(1, most));
  const found: Cell[] = [];
  if (width === bin) {
    const first = Math.floor((begin - start) / bin);
    for (let at = first; start + at * bin < end; at++) {
      found.push({
        from: Math.max(begin, start + at * bin),
        to: Math.min(end, start + (at + 1) * bin),
        value: values[at] ?? null,
      });
    }
    return found;
  }
  for (let at = 0; begin + at * width < end; at++) {
    const from = begin + at * width;
    const to = Math.min(end, from + width);
    found.push({ from, to, value: meanWithin({ start, bin, values }, from, to) });
  }
  return found;
}

/** The mean over [from, to), each bin weighed by its overlap. */
export function meanWithin({ start, bin, values }: Bins, from: number, to: number): number | null {
  let sum = 0;
  let known = 0;
  const first = Math.max(0, Math.floor((from - start) / bin));
  for (let at = first; at < values.length && start + at * bin < to; at++) {
    const value = values[at] ?? null;
    const overlap = Math.min(to, start + (at + 1) * bin) - Math.max(from, start + at * bin);
    if (value === null || overlap <= 0) continue;
    sum += value * overlap;
    known += overlap;
  }
  return known > 0 ? sum / known : null;
}

/** Neighbouring cells of one level as one stretch, by level; level 0 is empty and is left out. */
export function byLevel(all: readonly Cell[], levels: number, full: number): Map<number, [from: number, to: number][]> {
  const found = new Map<number, [number, number][]>();
  for (const { from, to, value } of all) {
    if (value === null) continue;
    const level = Math.min(levels, Math.round((levels * value) / full));
    if (level <= 0) continue;
    const stretches = found.get(level) ?? [];
    const last = stretches[stretches.length - 1];
    if (last && last[1] === from) last[1] = to;
    else stretches.push([from, to]);
    found.set(level, stretches);
  }
  return found;
}

/** Stretches where the figure is known. */
export function known(all: readonly Cell[]): [from: number, to: number][] {
  const found: [number, number][] = [];
  for (const { from, to, value } of all) {
    if (value === null) continue;
    const last = found[found.length - 1];
    if (last && last[1] === from) last[1] = to;
    else found.push([from, to]);
  }
  return found;
}

/**
 * The finest of `levels` whose bins are at least a pixel wide when [low, high] fills `pixels`; the coarsest where none
 * is. Levels run from coarse to fine.
 */
export function levelFor(levels: readonly Bins[], low: number, high: number, pixels: number): Bins {
  const pixel = (high - low) / Math.max(1, pixels);
  return levels.findLast(({ bin }) => bin >= pixel) ?? levels[0] ?? NOTHING;
}

const NOTHING: Bins = { start: 0, bin: 1, values: [] };

/** The value of the bin that holds the instant; null beyond the ends. */
export const valueAt = ({ start, bin, values }: Bins, at: number): number | null =>
  values[Math.floor((at - start) / bin)] ?? null;

/** A stretch to look at, kept in the address as "from-to" in whole ns from the span's origin, so that views share it. */
export type Zoom = readonly [from: number, to: number];

export const zoomKey = ([from, to]: Zoom): string => `${Math.round(from)}-${Math.round(to)}`;

/** Null for none, and for one that ends after `whole` (another span's). */
export function zoomOf(key: string | undefined, whole: number): Zoom | null {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(key ?? "") ?? [];
  const zoom: Zoom = [Number(from), Number(to)];
  return from !== undefined && zoom[0] < zoom[1] && zoom[1] <= Math.ceil(whole) ? zoom : null;
}
