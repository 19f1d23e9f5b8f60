/** What of a step no verdict and no gain counts: it is hatched in the step's bar. */

import type { OverviewResult, PartMeaning } from "../../api.gen";
import { Swatch } from "../../colour";
import type { Scale } from "../../format";

type Step = OverviewResult["steps"][number];

/** What of a step judgement leaves out, by the idle reason of that name. */
const LEFT_OUT = {
  before_recording: (step: Step) => step.before_recording_ns,
  once: (step: Step) => step.once_ns,
  after_recording: (step: Step) => step.after_recording_ns,
  profiler: (step: Step) => step.profiler_ns,
};

/** All of it, ns. */
export const leftOut = (step: Step): number => Object.values(LEFT_OUT).reduce((sum, of) => sum + of(step), 0);

/** Rows of a tip. */
export function leftOutRows(step: Step, reasons: readonly PartMeaning[], scale: Scale) {
  return Object.entries(LEFT_OUT)
    .filter(([, of]) => of(step) > 0)
    .map(([id, of]) => ({
      mark: <Swatch colour="ink" hatched />,
      name: `of it ${reasons.find((reason) => reason.id === id)?.label.toLowerCase() ?? id}`,
      value: scale.text(of(step)),
    }));
}
