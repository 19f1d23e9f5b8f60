/** Buttons beside the title, for other steps and for zooming, and the line about the measured range. */

import type { TimelineStep } from "../../api.gen";
import { fine } from "../../format";
import { lengthOf, type TimeRange } from "../../time_range";
import type { EventSource } from "../props";
import { useMeasured } from "./data/busy";
import { rangeFacts, stepsText } from "./range";

interface StepToolsProps {
  at: number | null;
  count: number;
  goTo(at: number): void;
  zoom(factor: number): void;
  reset(): void;
}

export function StepTools({ at, count: steps, goTo, zoom, reset }: StepToolsProps) {
  return (
    <div class="tools" role="group" aria-label="Step and zoom">
      <button
        class="button low"
        aria-label="Previous step"
        data-hint="Previous step, key ["
        disabled={at === null || at === 0}
        onClick={() => goTo(at! - 1)}
      >
        Previous
      </button>
      <button
        class="button low"
        aria-label="Next step"
        data-hint="Next step, key ]"
        disabled={at === null || at >= steps - 1}
        onClick={() => goTo(at! + 1)}
      >
        Next
      </button>
      <button class="button low" data-hint="Further, key S" aria-label="Zoom out" onClick={() => zoom(1.6)}>
        −
      </button>
      <button class="button low" data-hint="Closer, key W" aria-label="Zoom in" onClick={() => zoom(1 / 1.6)}>
        +
      </button>
      <button class="button low" data-hint="The whole step, key 0 or double click" onClick={reset}>
        {steps > 0 ? "Whole step" : "Whole trace"}
      </button>
    </div>
  );
}

/** The line under the picture while a range is measured: how long it is, and what happened in it. */
interface RangeLineProps {
  events: EventSource;
  span: string;
  range: TimeRange;
  steps: readonly TimelineStep[];
  zoom(): void;
  clear(): void;
}

export function RangeLine({ events, span, range, steps, zoom, clear }: RangeLineProps) {
  const busy = useMeasured(events, span, range);
  const within = stepsText(steps, range);
  return (
    <div class="range-line">
      <p role="status">
        <span>
          <span class="quiet">Measured</span> <b>{fine(lengthOf(range))}</b>
          {within && `, ${within}`}
        </span>
        {busy &&
          rangeFacts(range, busy).map(({ label, value }) => (
            <span key={label}>
              {label && <span class="quiet">{label} </span>}
              {value}
            </span>
          ))}
      </p>
      <button class="button low" data-hint="Key Z" onClick={zoom}>
        Zoom to the range
      </button>
      <button class="button low" data-hint="Key Esc" onClick={clear}>
        Clear
      </button>
    </div>
  );
}
