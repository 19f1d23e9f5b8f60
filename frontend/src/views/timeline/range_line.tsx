/** Under the picture while a range is measured: how long it is, and what happened in it. */

import type { TimelineStep } from "../../api.gen";
import { fine } from "../../format";
import { lengthOf, type TimeRange } from "../../time_range";
import type { EventSource } from "../props";
import { useMeasured } from "./data/busy";
import { rangeFacts, stepsText } from "./range";

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
