/** Which step is looked at, and what is in sight of it. */

import type { TimelineResult, TimelineStep } from "../../api.gen";
import { keptStep } from "../choices";
import type { UrlState } from "../../address/url";
import { lengthOf, type Stretch, touches } from "./stretch";

export const stretchOf = ({ start_ns, end_ns }: TimelineStep): Stretch => ({ from: start_ns, to: end_ns });

/** All that was recorded. */
export function wholeOf({ first_ns, last_ns, steps }: TimelineResult): Stretch {
  const from = Math.min(first_ns, ...steps.slice(0, 1).map((step) => step.start_ns));
  return { from, to: Math.max(last_ns, from + 1, ...steps.slice(-1).map((step) => step.end_ns)) };
}

/** The step of the address, else that of a zoom that it names, else the one of median length: a step like the others. */
export function stepAt(result: TimelineResult, state: UrlState, zoom: Stretch | null): number | null {
  const { steps } = result;
  if (steps.length === 0) return null;
  const kept = keptStep(
    state,
    steps.map((step) => step.name),
  );
  if (kept !== null) return kept;
  const within = zoom ? steps.findIndex((step) => touches(stretchOf(step), zoom)) : -1;
  if (within >= 0) return within;
  const byLength = steps.map((step, at) => [lengthOf(stretchOf(step)), at] as const).sort((a, b) => a[0] - b[0]);
  return byLength[(byLength.length - 1) >> 1]![1];
}

/** A trace without steps is looked at as one. */
export const stepOrWhole = (result: TimelineResult, at: number | null): TimelineStep => {
  const whole = wholeOf(result);
  return (at === null ? undefined : result.steps[at]) ?? { name: "", start_ns: whole.from, end_ns: whole.to };
};

/** The step that is looked at while any of it is in sight, else the one that the picture has come to. */
export function stepInSight({ steps }: TimelineResult, step: TimelineStep, seen: Stretch): TimelineStep {
  if (touches(stretchOf(step), seen)) return step;
  const middle = (seen.from + seen.to) / 2;
  return steps.find(({ start_ns, end_ns }) => start_ns <= middle && middle < end_ns) ?? step;
}
