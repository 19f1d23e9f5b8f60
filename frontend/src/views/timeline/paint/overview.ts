/**
 * The overview of the whole recording: how busy the GPUs were, steps distinguished by shading, and search hits.
 *
 *      '  ' '''            where events were found
 *     ▁▇▇▇▁▇▇▇▁▇▇▇         busy share in each bin
 *     ────━━━━────         the step that is shown
 */

import type { BusyBins, TimelineStep } from "../../../api.gen";
import type { Pen } from "../../../charts/canvas/canvas";
import type { Palette } from "../../../charts/canvas/palette";
import { rangeOf, type TimeRange, type TimeScale } from "../../../time_range";
import { binsOf } from "../data/busy";

export const OVERVIEW_PX = 40;

/** Height above the bars, for the hits. */
const HITS_PX = 6;

/** Height below the bars. */
const FOOT_PX = 3;

/** Steps narrower than this are not distinguished. */
const SHADED_PX = 4;

/** The hits of a search: their number in each of the bins of a range, all of the same length. */
export interface Hits extends TimeRange {
  counts: readonly number[];
}

interface Overview {
  busy: BusyBins | null;
  hits: Hits | null;
  steps: readonly TimelineStep[];
  step: TimelineStep;
  time: TimeScale;
  palette: Palette;
}

export function paintOverview(pen: Pen, overview: Overview): void {
  const { time, palette } = overview;
  pen.clearRect(0, 0, time.width, OVERVIEW_PX);
  paintSteps(pen, overview);
  paintBusy(pen, overview);
  paintHits(pen, overview);
  pen.fillStyle = palette.line;
  pen.fillRect(0, OVERVIEW_PX - FOOT_PX, time.width, 1);
  pen.fillStyle = palette.ink;
  fill(pen, time, rangeOf(overview.step), OVERVIEW_PX - FOOT_PX, FOOT_PX - 1, 2);
}

function paintSteps(pen: Pen, { steps, time, palette }: Overview): void {
  pen.fillStyle = palette.sunken;
  steps.forEach(({ start_ns, end_ns }, at) => {
    const isShaded = (end_ns - start_ns) / time.ns_per_px >= SHADED_PX;
    if (!isShaded || at % 2 === 0)
      fill(pen, time, { from: start_ns, to: end_ns }, HITS_PX, OVERVIEW_PX - HITS_PX - FOOT_PX);
  });
}

function paintBusy(pen: Pen, { busy, time, palette }: Overview): void {
  if (!busy) return;
  pen.fillStyle = palette.fills.get(busy.of === "gpu" ? "kernel" : "cpu")![0]!.plain;
  for (const bin of binsOf(busy)) {
    const tall = bin.share * (OVERVIEW_PX - HITS_PX - FOOT_PX);
    fill(pen, time, bin, OVERVIEW_PX - FOOT_PX - tall, tall);
  }
}

function paintHits(pen: Pen, { hits, time, palette }: Overview): void {
  if (!hits) return;
  pen.fillStyle = palette.ink;
  const long = (hits.to - hits.from) / hits.counts.length;
  hits.counts.forEach((count, at) => {
    const from = hits.from + at * long;
    if (count > 0) fill(pen, time, { from, to: from + long }, 0, HITS_PX - 2, 2);
  });
}

/** Snaps to whole pixels, so that neighbours leave no seam. */
function fill(pen: Pen, time: TimeScale, { from, to }: TimeRange, top: number, tall: number, least_px = 1): void {
  const [left, right] = [Math.round(time.clampedX(from)), Math.round(time.clampedX(to))];
  if (tall > 0) pen.fillRect(left, top, Math.max(least_px, right - left), tall);
}
