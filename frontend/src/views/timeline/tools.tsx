/** The buttons beside the title, and the lines above and below the picture: tracks, colours and the measured range. */

import type { ComponentChildren, RefObject } from "preact";
import type { TimelineStep } from "../../api.gen";
import { type Colour, Swatch } from "../../colour";
import { SearchField } from "../../components/filter";
import { Keys } from "../../components/keys";
import { counted, fine } from "../../format";
import type { ViewSource } from "../../server/client";
import { lengthOf, type TimeRange } from "../../time_range";
import { useMeasured } from "./data/busy";
import { rangeFacts, stepsText } from "./range";

interface StepToolsProps {
  at: number | null;
  /** 0 where the recording has no steps and is shown as a whole. */
  count: number;
  goTo(at: number): void;
  zoom(factor: number): void;
  reset(): void;
}

export function StepTools({ at, count: steps, goTo, zoom, reset }: StepToolsProps) {
  const whole = steps > 0 ? "step" : "trace";
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
      <button class="button low" data-hint={`The whole ${whole}, key 0 or double click`} onClick={reset}>
        Whole {whole}
      </button>
    </div>
  );
}

/** The line under the picture while a range is measured: how long it is, and what happened in it. */
interface RangeLineProps {
  events: ViewSource;
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

const meaningsFor = (matrixUnits: string): readonly (readonly [Colour, string])[] => [
  ["kernel", "Kernels"],
  ["tensor", `Kernels on ${matrixUnits}`],
  ["copy", "Copies"],
  ["comm", "Communication"],
  ["data", "Data loading"],
  ["cpu", "CPU ops"],
  ["runtime", "Runtime calls"],
  ["blocking", "Blocking"],
  ["other", "Python, other"],
  ["excess", "Does not repeat"],
];

interface TracksAndLegendProps {
  field: RefObject<HTMLInputElement | null>;
  filter: string;
  write(filter: string): void;
  leave(): void;
  /** The numbers of shown tracks and of all tracks. */
  shown: number;
  all: number;
  colours: ReadonlySet<Colour>;
  off: ReadonlySet<string>;
  dim(off: ReadonlySet<string>): void;
  /** "tensor cores", or what the vendor of the GPU calls them. */
  matrixUnits: string;
  children: ComponentChildren;
}

/** The line between the overview and the picture: which tracks are shown, and what the colours mean. */
export function TracksAndLegend(props: TracksAndLegendProps) {
  const { field, filter, write, leave, shown, all, colours, off, dim, matrixUnits, children } = props;
  const type = (event: KeyboardEvent) => {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    if (event.key === "Escape") write("");
    leave();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="legend-row small">
      <SearchField
        label="Show tracks by name or kind"
        placeholder="Filter tracks"
        typed={filter}
        change={write}
        field={field}
        onKeyDown={type}
      />
      <span class="found" role="status">
        {filter.trim() !== "" && `${shown} of ${counted(all, "track")}`}
      </span>
      {children}
      <Keys
        label="Colours"
        keys={meaningsFor(matrixUnits)
          .filter(([colour]) => colours.has(colour))
          .map(([colour, label]) => ({ id: colour, label, mark: <Swatch colour={colour} /> }))}
        off={off}
        choose={dim}
      />
    </div>
  );
}
