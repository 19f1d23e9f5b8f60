/** What a report says of the single events that it holds, and in the picture's place where it holds none. */

import type { ComponentChildren } from "preact";
import type { HeldSteps, TimelineStep } from "../../api.gen";
import { counted } from "../../format";
import { type TimeRange, touches } from "../../time_range";
import { rangeOf } from "./data/steps";

/** A report opens at a step that it holds. */
export function openingStep(shown: string | null, held: HeldSteps | null): string | null {
  if (held === null || (shown !== null && held.steps.includes(shown))) return shown;
  return held.steps[0] ?? null;
}

/** "step 5", "steps 10 to 20", "the whole recording" */
function stepsOf({ steps }: HeldSteps): string {
  if (steps.length === 0) return "the whole recording";
  return steps.length === 1 ? `step ${steps[0]}` : `steps ${steps[0]} to ${steps.at(-1)}`;
}

export const heldText = (held: HeldSteps): string =>
  [
    `this report has the events of ${stepsOf(held)}`,
    ...(held.joined > 0 ? [`${counted(held.joined, "short event")} drawn together with others`] : []),
  ].join(", ");

interface IfHeldProps {
  /** Null: events of all steps are there. */
  held: HeldSteps | null;
  visible: TimeRange;
  steps: readonly TimelineStep[];
  goTo(at: number): void;
  children: ComponentChildren;
}

/** Where nothing that is visible is in the report, that is said in the children's place. */
export function IfHeld({ held, visible, steps, goTo, children }: IfHeldProps) {
  if (held === null || touches(visible, rangeOf(held))) return <>{children}</>;
  const first = steps.findIndex(({ name }) => name === held.steps[0]);
  return (
    <div class="notice">
      <p>
        <b>The events of this step are not in the report.</b>
      </p>
      <p class="quiet">
        It has those of {stepsOf(held)}. For others write it with{" "}
        <code>tb-steptime report --timeline --steps 10-20</code>.
      </p>
      {first >= 0 && (
        <p class="actions">
          <button class="button low" onClick={() => goTo(first)}>
            Show step {held.steps[0]}
          </button>
        </p>
      )}
    </div>
  );
}
