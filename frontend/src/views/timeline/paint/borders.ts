/**
 * Borders of steps: thin lines behind the boxes, which fade as steps get narrow and are left out below a few pixels.
 *
 *     |        |        |  |  |  |................      far out, boxes say more than hundreds of lines
 */

import type { TimelineStep } from "../../../api.gen";
import type { Pen } from "../../../charts/canvas/canvas";
import type { TimeScale } from "../../../time_range";
import { AXIS_PX, type Scene } from "../scene";

/** A step this narrow has no borders; one this wide has them in full. */
const GONE_PX = 5;
const FULL_PX = 40;

/** The faintest that is still drawn. */
const FAINTEST = 0.15;

export interface Border {
  /** Whole px. */
  x: number;
  /** 0 to 1. */
  strength: number;
}

/** One at each instant, as strong as the wider of the two steps that meet there. */
export function bordersOf(steps: readonly TimelineStep[], time: TimeScale): Border[] {
  const strengths = new Map<number, number>();
  for (const { start_ns, end_ns } of steps) {
    const strength = strengthOf((end_ns - start_ns) / time.ns_per_px);
    if (strength === 0) continue;
    for (const ns of [start_ns, end_ns]) {
      const x = merged(Math.round(time.x(ns)), strengths);
      if (x >= time.left && x <= time.width) strengths.set(x, Math.max(strength, strengths.get(x) ?? 0));
    }
  }
  return [...strengths].map(([x, strength]) => ({ x, strength }));
}

/** The end of a step and the start of the next, next to each other, are one border. */
const merged = (x: number, known: ReadonlyMap<number, number>): number =>
  [x - 1, x - 2].find((near) => known.has(near)) ?? x;

export function strengthOf(wide_px: number): number {
  if (wide_px < GONE_PX) return 0;
  return Math.min(1, FAINTEST + ((1 - FAINTEST) * (wide_px - GONE_PX)) / (FULL_PX - GONE_PX));
}

export function paintBorders(pen: Pen, { steps, time, palette, layout, scroll }: Scene): void {
  pen.fillStyle = palette.firm;
  for (const { x, strength } of bordersOf(steps, time)) {
    pen.globalAlpha = strength;
    pen.fillRect(x, AXIS_PX, 1, layout.height - scroll);
  }
  pen.globalAlpha = 1;
}
