/** Which range is measured: kept in the address, but for while the pointer still draws it. */

import { useMemo, useState } from "preact/hooks";
import type { TimeRange } from "../../time_range";
import type { Tab } from "../props";
import type { Actions } from "./input/commands";

export interface Measuring {
  range: TimeRange | null;
  measure: Actions["measure"];
}

export function useMeasuring({ state, update }: Tab): Measuring {
  const [held, hold] = useState<TimeRange | null>(null);
  const { from, to } = held ?? state.range ?? {};
  const range = useMemo(() => (from === undefined || to === undefined ? null : { from, to }), [from, to]);
  const measure = (next: TimeRange | null, drawing = false) => {
    hold(drawing ? next : null);
    if (!drawing) update({ range: next });
  };
  return { range, measure };
}
