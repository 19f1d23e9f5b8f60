/** What differs between two spans beyond their figures, so that these cannot be compared as they stand. */

import type { SpanHead } from "../api.gen";
import { counted } from "../format";
import type { Names } from "../views/props";

/** A sentence for each; none: the two are alike. */
export function differing(own: SpanHead, other: SpanHead, names: Names): string[] {
  return [byMachine, byCount, byRanks, bySteps, bySimulation].flatMap((found) => found(own, other, names) ?? []);
}

type Difference = (own: SpanHead, other: SpanHead, names: Names) => string | null;

const models = ({ device_names: names }: SpanHead): string => [...new Set(names)].sort().join(" and ");

const byMachine: Difference = (own, other, { own: a, name: b }) => {
  const [here, there] = [models(own), models(other)];
  if (here === there) return null;
  if (here === "" || there === "") {
    const [on, off] = here === "" ? [b, a] : [a, b];
    return (
      `Only ${on} recorded a GPU, ${off} recorded the CPU alone: ` +
      "a step is not the same work for the CPU, and figures of the GPU have no counterpart."
    );
  }
  return `${a} ran on ${here}, ${b} on ${there}: times differ for that reason too.`;
};

const byCount: Difference = ({ device_names: own }, { device_names: other }, { own: a, name: b }) =>
  own.length === other.length || own.length === 0 || other.length === 0
    ? null
    : `${a} records ${counted(own.length, "GPU")}, ${b} ${counted(other.length, "GPU")}.`;

const byRanks: Difference = ({ world_size: own }, { world_size: other }, { own: a, name: b }) =>
  (own ?? 1) === (other ?? 1)
    ? null
    : `${a} has ${counted(own ?? 1, "rank")}, ${b} ${counted(other ?? 1, "rank")}: a step may hold another batch.`;

const STEPS = {
  marks: "marked by the profiler",
  inferred: "inferred from repeated calls",
  recording: "the whole recording as one",
} as const;

const bySteps: Difference = ({ steps_by: own }, { steps_by: other }, { own: a, name: b }) =>
  own === other
    ? null
    : `Steps of ${a} are ${STEPS[own]}, those of ${b} are ${STEPS[other]}: a step may not be the same piece of work.`;

const bySimulation: Difference = ({ simulated: own }, { simulated: other }, { own: a, name: b }) => {
  if ((own === null) === (other === null)) return null;
  const [made, recorded] = own === null ? [b, a] : [a, b];
  return `${made} is simulated, ${recorded} is recorded.`;
};
