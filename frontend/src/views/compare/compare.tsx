/** What changed from one run to another: by how much, of what, and whether it is more than noise. */

import { useMemo } from "preact/hooks";
import type { PairViewProps } from "../props";
import { ChangeTables } from "./change_tables";
import { Experiments } from "./experiments";
import { Figures } from "./figures";
import { Promises } from "./promises";
import { StepWaterfall } from "./step_waterfall";

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
