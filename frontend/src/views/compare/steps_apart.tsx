/** The mean steps of two runs that do different work: each as a bar on its own axis, without a difference. */

import type { Contribution } from "../../api.gen";
import { ns } from "../../format";
import { hiddenParts } from "../choices";
import { type MeanStep, MeanStepBar } from "../mean_step_bar";
import type { Pair, Tab } from "../props";

export function StepsApart({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { found, name, own } = pair;
  const { step, waterfalls } = found.comparison;
  const { rows } = waterfalls.find(({ by }) => by === "part")!;
  const stepOf = (whose: string, length: number, of: (row: Contribution) => number): MeanStep => ({
    name: whose,
    ns: length,
    parts: rows.flatMap((row) => {
      const meaning = tab.meanings.parts.find(({ id }) => id === row.id);
      return meaning ? [{ ...meaning, ns: of(row) }] : [];
    }),
  });
  return (
    <MeanStepBar
      label={() => `Mean step: ${name} ${ns(step.base_ns)}, ${own} ${ns(step.candidate_ns)}.`}
      step={stepOf(name, step.base_ns, (row) => row.base_ns)}
      other={stepOf(own, step.candidate_ns, (row) => row.candidate_ns)}
      apart
      braces={[]}
      off={hiddenParts(tab.state)}
    />
  );
}
