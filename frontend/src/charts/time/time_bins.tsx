/**
 * A figure in time bins, at several resolutions: which resolution a picture needs, what it draws of the bins, and bins
 * as colour, in ten levels over the sunken background.
 */

import { max, mean } from "d3-array";
import { colourOf, type Filled, svgFill } from "../../colour";
import type { TimeRange, TimeScale } from "../../time_range";

export interface Bins {
  /** Start of the first bin, ns. */
  start: number;
  bin: number;
  /** null: the figure has no meaning there. */
  values: readonly (number | null)[];
}

const NOTHING: Bins = { start: 0, bin: 1, values: [] };

/**
 * The finest of `levels` whose bins are at least a pixel wide when [low, high] fills `pixels`; the coarsest where there
 * is no such level. Levels run from coarse to fine.
 */
export function levelFor(levels: readonly Bins[], low: number, high: number, pixels: number): Bins {
  const pixel = (high - low) / Math.max(1, pixels);
  return levels.findLast(({ bin }) => bin >= pixel) ?? levels[0] ?? NOTHING;
}

/** The value of the bin that contains the instant; null beyond the ends. */
export const valueAt = ({ start, bin, values }: Bins, at: number): number | null =>
  values[Math.floor((at - start) / bin)] ?? null;

export const meanOf = (values: readonly (number | null)[]): number | null => mean(values) ?? null;

export const maxOf = (values: readonly (number | null)[]): number | null => max(values, (value) => value) ?? null;

/** Several bins combined. */
interface Aggregate extends TimeRange {
  value: number | null;
}

/**
 * The bins within [low, high] as at most `count` aggregates of at least a bin each, by exact overlap: the value is the
 * mean over the time. Time without a value does not enter the mean; an aggregate of such time alone has no value.
 */
export function aggregates(bins: Bins, low: number, high: number, count: number): Aggregate[] {
  const { start, bin, values } = bins;
  const end = Math.min(high, start + bin * values.length);
  const begin = Math.max(low, start);
  const width = Math.max(bin, (high - low) / Math.max(1, count));
  const found: Aggregate[] = [];
  if (width === bin) {
    const first = Math.floor((begin - start) / bin);
    for (let at = first; start + at * bin < end; at++) {
      const [from, to] = [Math.max(begin, start + at * bin), Math.min(end, start + (at + 1) * bin)];
      found.push({ from, to, value: values[at] ?? null });
    }
    return found;
  }
  for (let at = 0; begin + at * width < end; at++) {
    const from = begin + at * width;
    const to = Math.min(end, from + width);
    found.push({ from, to, value: meanWithin(bins, from, to) });
  }
  return found;
}

/** The mean over [from, to), each bin weighted by its overlap. */
export function meanWithin({ start, bin, values }: Bins, from: number, to: number): number | null {
  let sum = 0;
  let measured = 0;
  const first = Math.max(0, Math.floor((from - start) / bin));
  for (let at = first; at < values.length && start + at * bin < to; at++) {
    const value = values[at] ?? null;
    const overlap = Math.min(to, start + (at + 1) * bin) - Math.max(from, start + at * bin);
    if (value === null || overlap <= 0) continue;
    sum += value * overlap;
    measured += overlap;
  }
  return measured > 0 ? sum / measured : null;
}

/**
 * Neighbouring aggregates of the same level joined into ranges, by level; level 0 is empty and is left out. Anything
 * above 0 has a level: where a GPU works for little of the time, that is what the picture is asked.
 */
export function byLevel(all: readonly Aggregate[], levels: number, full: number): Map<number, TimeRange[]> {
  const found = new Map<number, TimeRange[]>();
  for (const { from, to, value } of all) {
    const level = value ? Math.min(levels, Math.max(1, Math.round((levels * value) / full))) : 0;
    if (level > 0) found.set(level, joined(found.get(level) ?? [], from, to));
  }
  return found;
}

/** Ranges where the figure is known. */
export const knownRanges = (all: readonly Aggregate[]): TimeRange[] =>
  all.reduce<TimeRange[]>((found, { from, to, value }) => (value === null ? found : joined(found, from, to)), []);

function joined(ranges: TimeRange[], from: number, to: number): TimeRange[] {
  const last = ranges[ranges.length - 1];
  if (last && last.to === from) last.to = to;
  else ranges.push({ from, to });
  return ranges;
}

/**
 * Bins of about one pixel or slightly more when [low, high] fills `pixels`: bins of the coarsest level that resolves
 * every pixel, joined; or those of the finest level as they are, where even they are wider. `join` combines several
 * values into one.
 */
export function binsPerPixel(
  levels: readonly Bins[],
  low: number,
  high: number,
  pixels: number,
  join: (values: readonly (number | null)[]) => number | null,
): Bins {
  const pixel = (high - low) / Math.max(1, pixels);
  const level = levels.find(({ bin }) => bin <= pixel) ?? levels[levels.length - 1] ?? { ...NOTHING, start: low };
  const many = Math.max(1, Math.ceil(pixel / level.bin));
  if (many === 1) return level;
  const first = many * Math.floor(Math.max(0, (low - level.start) / level.bin) / many);
  const last = Math.min(level.values.length, Math.ceil((high - level.start) / level.bin));
  const values = [];
  for (let at = first; at < last; at += many) values.push(join(level.values.slice(at, at + many)));
  return { start: level.start + first * level.bin, bin: many * level.bin, values };
}

/** One figure of a row; a second figure may be the hatched sense of the same colour. */
export interface BinLayer extends Filled {
  label: string;
  /** From coarse to fine; a full bin is 1000. */
  levels: readonly Bins[];
}

const FULL = 1000;

export const shareOf = (permille: number | null): number | null => (permille === null ? null : permille / FULL);

const LEVELS = 10;

interface BinLayersProps {
  layers: readonly BinLayer[];
  visible: TimeRange;
  time: TimeScale;
  top: number;
  height: number;
}

export function BinLayers({ layers, visible: { from, to }, time, top, height }: BinLayersProps) {
  const pixels = time.width - time.left;
  const path = (ranges: readonly TimeRange[]) => rects(ranges, time, top, height);
  return (
    <>
      {layers.map((layer, at) => {
        const all = aggregates(levelFor(layer.levels, from, to, pixels), from, to, pixels);
        return (
          <g key={layer.label} class={`of-${colourOf(layer.colour)}`}>
            {at === 0 && <path class="empty" d={path(knownRanges(all))} />}
            {[...byLevel(all, LEVELS, FULL)].map(([level, ranges]) => (
              <path
                key={level}
                class={layer.hatched ? "" : "mark"}
                style={layer.hatched ? { fill: svgFill(layer.colour, true) } : {}}
                fill-opacity={level / LEVELS}
                d={path(ranges)}
              />
            ))}
          </g>
        );
      })}
    </>
  );
}

/** Snaps to whole pixels, so that two adjacent levels leave no seam. */
function rects(ranges: readonly TimeRange[], { x }: TimeScale, top: number, height: number): string {
  return ranges
    .map(({ from, to }) => {
      const left = Math.round(x(from));
      const width = Math.max(1, Math.round(x(to)) - left);
      return `M${left} ${top}h${width}v${height}h${-width}z`;
    })
    .join("");
}
