/** What fills a strip: ten levels of a colour over the sunken ground, by exact overlap, one layer over the other. */

import { colourOf, svgFill } from "../../colour";
import { type Bins, byLevel, cells, known, levelFor } from "./time_bins";

/** One figure of a strip; a second one is the hatched sense of its colour. */
export interface StackLayer {
  name: string;
  colour: string;
  hatched: boolean;
  /** From coarse to fine; full is 1000. */
  levels: readonly Bins[];
}

export const FULL = 1000;
const LEVELS = 10;

interface StripLayersProps {
  layers: readonly StackLayer[];
  /** What the strip shows, ns. */
  low: number;
  high: number;
  /** Where it stands, px. */
  left: number;
  width: number;
  top: number;
  tall: number;
  x(ns: number): number;
}

export function StripLayers({ layers, low, high, left, width, top, tall, x }: StripLayersProps) {
  return (
    <>
      {layers.map((layer, at) => {
        const all = cells(levelFor(layer.levels, low, high, width - left), low, high, width - left);
        return (
          <g key={layer.name} class={`of-${colourOf(layer.colour)}`}>
            {at === 0 && <path class="empty" d={rects(known(all), x, top, tall)} />}
            {[...byLevel(all, LEVELS, FULL)].map(([level, stretches]) => (
              <path
                key={level}
                class={layer.hatched ? "" : "mark"}
                style={layer.hatched ? { fill: svgFill(layer.colour, true) } : {}}
                fill-opacity={level / LEVELS}
                d={rects(stretches, x, top, tall)}
              />
            ))}
          </g>
        );
      })}
    </>
  );
}

/** On whole pixels: two levels that touch leave no seam. */
function rects(
  stretches: readonly (readonly [number, number])[],
  x: (ns: number) => number,
  top: number,
  depth: number,
): string {
  return stretches
    .map(([from, to]) => {
      const left = Math.round(x(from));
      const wide = Math.max(1, Math.round(x(to)) - left);
      return `M${left} ${top}h${wide}v${depth}h${-wide}z`;
    })
    .join("");
}
