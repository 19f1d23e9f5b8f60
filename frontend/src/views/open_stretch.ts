/** The way from a figure to the place in the timeline that shows it. */

import { zoomKey } from "../charts/pyramid";
import type { Changes } from "../state";

/** A stretch of time, ns from the span's origin, and the step in which it begins. */
export interface Stretch {
  step: string;
  start_ns: number;
  end_ns: number;
}

/** What stands on either side of the stretch, as a share of its length: what led to it and what followed. */
const MARGIN = 0.25;

/** A shorter window would show a single call and nothing around it. */
const LEAST_NS = 20_000;

export function keysOfStretch({ step, start_ns: start, end_ns: end }: Stretch): Changes {
  const margin = Math.max(MARGIN * (end - start), (LEAST_NS - (end - start)) / 2);
  return { view: "timeline", step, zoom: zoomKey([Math.max(0, start - margin), end + margin]) };
}
