/** Units of the mean steps of experiments: one for all, unless they are so unlike that most would read as nothing. */

import { type Scale, scaleFor } from "../../format";
import { scaleOf, type TimeUnit } from "../../scale";

/** The longest is so many times the shortest. */
const UNLIKE = 100;

export interface StepScales {
  /** Of an axis. */
  all: Scale;
  /** Of an experiment with this mean step. */
  of(step_ns: number): Scale;
}

export function stepScales(steps_ns: readonly number[], unit: TimeUnit): StepScales {
  const all = scaleOf(steps_ns, "ns", unit);
  const unlike = unit === "auto" && Math.max(...steps_ns) > UNLIKE * Math.min(...steps_ns);
  return { all, of: (step_ns) => (unlike ? scaleFor(step_ns, "ns") : all) };
}
