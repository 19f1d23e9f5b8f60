/**
 * The path that decides how long a step of the job is: work, transfers, and the lateness of each rank, which add up to
 * it.
 */

import type { DecidingPath } from "../api.gen";
import { ns } from "../format";
import { MeanStepBar } from "./mean_step_bar";

const NONE: ReadonlySet<string> = new Set();

export function JobPath({ path }: { path: DecidingPath }) {
  const works = path.work_ns + path.transfer_ns;
  const parts = [
    { id: "work", label: "Work", colour: "kernel", hatched: false, ns: path.work_ns },
    { id: "transfer", label: "Transfers", colour: "comm", hatched: false, ns: path.transfer_ns, text: "Transfers" },
    ...path.ranks.map(({ rank, late_ns }) => ({
      id: `rank${rank}`,
      label: `Rank ${rank} is late`,
      colour: "cpu",
      hatched: false,
      ns: late_ns,
      text: `Rank ${rank} late`,
    })),
  ];
  const spoken = parts.map((part) => `${part.label} ${ns(part.ns)}`).join(", ");
  return (
    <MeanStepBar
      label={() => `A step of the job takes ${ns(path.step_ns)}: ${spoken}.`}
      step={{ name: "Job's step", ns: path.step_ns, parts }}
      other={null}
      braces={[
        { words: "Work and transfers", ns: works },
        { words: "All wait for late ranks", ns: path.step_ns - works },
      ]}
      off={NONE}
    />
  );
}
