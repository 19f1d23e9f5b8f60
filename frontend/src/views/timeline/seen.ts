/** What is in sight: kept in the address once it rests, and taken from there when the address is changed elsewhere. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { TimelineResult, TimelineStep } from "../../api.gen";
import type { Tab } from "../props";
import { stepAt, stepInSight, stepOrWhole, stretchOf, wholeOf } from "./steps";
import { read, type Stretch, withNeighbours, written } from "./stretch";

/** Browsers allow few changes of the address in a second. */
const REST_MS = 300;

export interface Seen {
  whole: Stretch;
  seen: Stretch;
  setSeen(next: Stretch | ((before: Stretch) => Stretch)): void;
  step: TimelineStep;
  /** Its place among the steps; null where there is none. */
  at: number | null;
  /** Shows the whole step again. */
  reset(): void;
  /** Another step; nothing happens beyond the first and the last. */
  goTo(at: number): void;
}

export function useSeen(result: TimelineResult, tab: Tab): Seen {
  const whole = wholeOf(result);
  const zoom = tab.state["zoom"] ?? null;
  const at = stepAt(result, tab.state, read(zoom ?? undefined, whole));
  const step = stepOrWhole(result, at);
  const all = withNeighbours(stretchOf(step), whole);
  const [seen, setSeen] = useState(() => read(zoom ?? undefined, whole) ?? all);
  const own = useRef(zoom);
  const known = useRef(step.name);

  useEffect(() => {
    if (zoom === own.current && step.name === known.current) return;
    own.current = zoom;
    known.current = step.name;
    setSeen(read(zoom ?? undefined, whole) ?? all);
  }, [zoom, step.name]);

  useEffect(() => {
    const next = written(seen) === written(all) ? null : written(seen);
    if (next === own.current) return;
    const timer = setTimeout(() => {
      const shown = stepInSight(result, step, seen);
      own.current = next;
      known.current = shown.name;
      tab.update({ zoom: next, step: shown.name === "" ? null : shown.name });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [seen.from, seen.to, step.name]);

  const goTo = (other: number) => {
    const chosen = result.steps[other];
    if (chosen) tab.update({ step: chosen.name, zoom: null, event: null });
  };
  return { whole, seen, setSeen, step, at, reset: () => setSeen(all), goTo };
}
