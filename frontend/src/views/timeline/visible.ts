/** What is visible: kept in the address once it rests, and taken from there when the address is changed elsewhere. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { rangeKey } from "../../address/keys";
import type { TimelineResult, TimelineStep } from "../../api.gen";
import { useLatest } from "../../dom/hooks";
import { type TimeRange, visibleOf, withNeighbours } from "../../time_range";
import type { Tab } from "../props";
import { rangeOf, stepAt, stepInSight, stepOrWhole, wholeOf } from "./data/steps";

/** Browsers allow few changes of the address in a second. */
const REST_MS = 300;

interface VisibleRange {
  whole: TimeRange;
  visible: TimeRange;
  setVisible(next: TimeRange | ((before: TimeRange) => TimeRange)): void;
  step: TimelineStep;
  /** Its place among the steps; null where there is none. */
  at: number | null;
  /** Shows the whole step again. */
  reset(): void;
  /** Another step; nothing happens beyond the first and the last. */
  goTo(at: number): void;
}

/** `first`: the step to open with where the address says nothing. */
export function useVisibleRange(result: TimelineResult, { state, update }: Tab, first: string | null): VisibleRange {
  const whole = useMemo(() => wholeOf(result), [result]);
  const zoom = visibleOf(state.zoom, whole);
  const zoomKey = zoom && rangeKey(zoom);
  const at = stepAt(result, state, zoom, first);
  const step = useMemo(() => stepOrWhole(result, at), [result, at]);
  const all = useMemo(() => withNeighbours(rangeOf(step), whole), [step, whole]);
  const [visible, setVisible] = useState(zoom ?? all);
  /** What this picture wrote into the address last: that is no news. */
  const written = useRef({ zoomKey, step: step.name });

  useEffect(() => {
    if (zoomKey === written.current.zoomKey && step.name === written.current.step) return;
    written.current = { zoomKey, step: step.name };
    setVisible(visibleOf(state.zoom, whole) ?? all);
  }, [zoomKey, step.name, state.zoom, whole, all]);

  useEffect(() => {
    const key = rangeKey(visible) === rangeKey(all) ? null : rangeKey(visible);
    if (key === written.current.zoomKey) return;
    const timer = setTimeout(() => {
      const shown = stepInSight(result, step, visible);
      written.current = { zoomKey: key, step: shown.name };
      update({ zoom: key === null ? null : visible, step: shown.name === "" ? null : shown.name });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [visible, all, result, step, update]);

  const goTo = (other: number) => {
    const chosen = result.steps[other];
    if (chosen) update({ step: chosen.name, zoom: null, event: null });
  };
  return { whole, visible, setVisible, step, at, reset: () => setVisible(all), goTo };
}

/** An address that names an event shows it; what was chosen by a press is visible already. */
export function useShownOnce(range: TimeRange | null, event: number | null, show: (range: TimeRange) => void): void {
  const opened = useRef(event);
  const latest = useLatest(show);
  useEffect(() => {
    if (range === null || opened.current !== event) return;
    opened.current = null;
    latest.current(range);
  }, [range, event, latest]);
}
