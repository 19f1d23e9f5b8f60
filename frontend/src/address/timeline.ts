/** Changes to the address that open the Timeline at a step or at a range of time. */

import type { Changes } from "./keys";

/** Shows the whole step. Null: the step that the Timeline opens with by default. */
export const stepInTimeline = (step: string | null): Changes => ({
  view: "timeline",
  step,
  zoom: null,
  range: null,
  event: null,
});

/** How much is shown on either side of a range, as a share of its length: what led to it and what followed. */
const MARGIN = 0.25;

/** A shorter range would show a single call and nothing around it. */
const MIN_NS = 20_000;

/** Shows the step in which a range of time begins (ns from the span's origin), and marks the range as measured. */
export function rangeInTimeline(range: { step: string; start_ns: number; end_ns: number }): Changes {
  const length = range.end_ns - range.start_ns;
  const margin = Math.max(MARGIN * length, (MIN_NS - length) / 2);
  const zoom = { from: Math.max(0, range.start_ns - margin), to: range.end_ns + margin };
  return { view: "timeline", step: range.step, zoom, range: { from: range.start_ns, to: range.end_ns }, event: null };
}
