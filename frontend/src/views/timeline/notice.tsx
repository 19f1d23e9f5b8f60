/**
 * Shown in place of the picture where it has no events: the trace is being read again, cannot be read, or a report
 * lacks them.
 */

import type { ComponentChildren } from "preact";
import type { IncludedSteps, Problem, TimelineStep, Waiting } from "../../api.gen";
import { Busy, BytesRead, FileOf, Late, percentOf, WayOut } from "../../components/waiting";
import { bytesOf, counted, roughCount } from "../../format";
import { isFinal } from "../../server/recorded";
import { rangeOf, type TimeRange, touches } from "../../time_range";
import type { Loaded } from "./data/pages";

/** Null where the picture is there and nothing is wrong. */
export function Notice({ pages, waiting, problem, gone, again }: Loaded) {
  const small = pages.length > 0;
  if (problem) return <Failure problem={problem} again={again} small={small} />;
  if (gone) return <Failure problem={gone.problem} retry_ms={gone.retry_ms} again={again} small={small} />;
  if (small) return null;
  return <Late>{waiting ? <ReadingAgain waiting={waiting} /> : <Opening />}</Late>;
}

function Opening() {
  return (
    <div class="notice">
      <p>
        <b>Opening the events of this step</b>
      </p>
      <Busy label="Opening the events" />
    </div>
  );
}

interface FailureProps {
  problem: Problem;
  /** When the next automatic attempt is; null: only on a click. */
  retry_ms?: number | null;
  again(): void;
  small: boolean;
}

function Failure({ problem, retry_ms = null, again, small }: FailureProps) {
  return (
    <div class={small ? "notice low" : "notice"} role="alert">
      <p>
        <b>{problem.problem}.</b>
        <FileOf problem={problem} />
      </p>
      <WayOut problem={problem} retry_ms={retry_ms} />
      {!isFinal(problem) && (
        <p class="actions">
          <button class="button low" onClick={again}>
            Try again
          </button>
        </p>
      )}
    </div>
  );
}

function ReadingAgain({ waiting: { progress } }: { waiting: Waiting }) {
  const percent = progress ? percentOf(progress.read_bytes, progress.total_bytes) : 0;
  return (
    <div class="notice">
      <p>
        <b>
          Reading the trace file again, to show single events
          {progress && `: ${bytesOf(progress.read_bytes, progress.total_bytes)}`}
        </b>
      </p>
      <BytesRead percent={percent} />
      <p class="quiet">
        {progress ? `${roughCount(progress.events)} events so far. ` : "Not begun yet. "}The summary of this trace has
        its figures, but not its single events.
      </p>
    </div>
  );
}

/** The step that a report opens with: one whose events it contains. */
export function openingStep(shown: string | null, held: IncludedSteps | null): string | null {
  if (held === null || (shown !== null && held.steps.includes(shown))) return shown;
  return held.steps[0] ?? null;
}

/** "step 5", "steps 10 to 20", "the whole recording" */
function stepsOf({ steps }: IncludedSteps): string {
  if (steps.length === 0) return "the whole recording";
  return steps.length === 1 ? `step ${steps[0]}` : `steps ${steps[0]} to ${steps.at(-1)}`;
}

export const heldText = (held: IncludedSteps): string =>
  [
    `this report has the events of ${stepsOf(held)}`,
    ...(held.joined > 0 ? [`${counted(held.joined, "short event")} drawn together with others`] : []),
  ].join(", ");

interface IfHeldProps {
  /** Null: events of all steps are there. */
  held: IncludedSteps | null;
  visible: TimeRange;
  steps: readonly TimelineStep[];
  goTo(at: number): void;
  children: ComponentChildren;
}

/** Where the report contains nothing of the visible range, a notice replaces the children. */
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
