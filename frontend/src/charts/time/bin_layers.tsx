/** Time bins as colour: ten levels over the sunken background, by exact overlap, one layer over the other. */

import { colourOf, svgFill } from "../../colour";
import type { TimeRange, TimeScale } from "../../time_range";
import { aggregates, type Bins, byLevel, knownRanges, levelFor } from "./time_bins";

/** One figure of a row; a second figure may be the hatched sense of the same colour. */
export interface BinLayer {
  name: string;
  colour: string;
  hatched: boolean;
  /** From coarse to fine; a full bin is 1000. */
  levels: readonly Bins[];
}

export const FULL = 1000;
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
          <g key={layer.name} class={`of-${colourOf(layer.colour)}`}>
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
