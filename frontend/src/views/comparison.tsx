/** What changed from one run to another: by how much, of what, and whether it is more than noise. */

import { useMemo } from "preact/hooks";
import { Experiments } from "./compare/experiments";
import { KernelChanges } from "./compare/kernel_changes";
import { Promises } from "./compare/promises";
import { StepWaterfall } from "./compare/step_waterfall";
import type { Pair, PairViewProps } from "./props";

export function Comparison({ chosen, base, pair, chain, tab: given }: PairViewProps) {
  const tab = useMemo(() => ({ ...given, steps: 1 }), [given]); // everything here is of a mean step
  return (
    <div class="view" data-view="compare">
      {pair && <StepWaterfall pair={pair} tab={tab} />}
      {pair && hasKernels(pair) && <KernelChanges pair={pair} tab={tab} />}
      {pair && <Promises pair={pair} tab={tab} />}
      <Experiments chosen={chosen} base={base} asked={chain} tab={tab} />
    </div>
  );
}

/** On both sides: without a GPU on one, every kernel of the other is only in that one. */
const hasKernels = ({ found }: Pair): boolean => found.comparison.waterfalls.some(({ by }) => by === "kernel");
