/** Which step is shown, and what is visible of it. */

import type { Address } from "../../../address/keys";
import type { TimelineResult, TimelineStep } from "../../../api.gen";
import { rangeOf, type TimeRange, touches } from "../../../time_range";
import { selectedStep, shownStep } from "../../choices";

export function wholeOf({ first_ns, last_ns, steps }: TimelineResult): TimeRange {
  const from = Math.min(first_ns, ...steps.slice(0, 1).map((step) => step.start_ns));
  return { from, to: Math.max(last_ns, from + 1, ...steps.slice(-1).map((step) => step.end_ns)) };
}

/**
 * The step that the address names, else the step of its zoom, else `first`, else the step of median length, which is a
 * typical one.
 */
export function stepAt(
  result: TimelineResult,
  state: Address,
  zoom: TimeRange | null,
  first: string | null = null,
): number | null {
  const { steps } = result;
  if (steps.length === 0) return null;
  const shown = selectedStep(
    state,
    steps.map((step) => step.name),
  );
  if (shown !== null) return shown;
  const within = zoom ? steps.findIndex((step) => touches(rangeOf(step), zoom)) : -1;
  if (within >= 0) return within;
  const opening = steps.findIndex((step) => step.name === first);
  return opening >= 0 ? opening : shownStep(steps, state);
}

/** A trace without steps is shown as a single step. */
export const stepOrWhole = (result: TimelineResult, at: number | null): TimelineStep => {
  const whole = wholeOf(result);
  return (at === null ? undefined : result.steps[at]) ?? { name: "", start_ns: whole.from, end_ns: whole.to };
};

/** The step that is shown while any of it is visible, else the one in the middle of the visible range. */
export function stepInSight({ steps }: TimelineResult, step: TimelineStep, visible: TimeRange): TimelineStep {
  if (touches(rangeOf(step), visible)) return step;
  const middle = (visible.from + visible.to) / 2;
  return steps.find(({ start_ns, end_ns }) => start_ns <= middle && middle < end_ns) ?? step;
}
