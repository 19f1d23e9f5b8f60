/** What changed from one run to another: by how much, of what, and whether it is more than noise. */

import { useMemo } from "preact/hooks";
import { ChangeTables } from "./compare/change_tables";
import { Experiments } from "./compare/experiments";
import { Figures } from "./compare/figures";
import { Promises } from "./compare/promises";
import { StepWaterfall } from "./compare/step_waterfall";
import type { PairViewProps } from "./props";

export function Comparison({ chosen, base, pair, chain, tab: given }: PairViewProps) {
  const tab = useMemo(() => ({ ...given, steps: 1 }), [given]); // everything here is of a mean step
  return (
    <div class="view" data-view="compare">
      {pair && <StepWaterfall pair={pair} tab={tab} />}
      {pair && <Figures pair={pair} tab={tab} />}
      {pair && <ChangeTables pair={pair} tab={tab} />}
      {pair && <Promises pair={pair} tab={tab} />}
      <Experiments chosen={chosen} base={base} asked={chain} tab={tab} />
    </div>
  );
}
