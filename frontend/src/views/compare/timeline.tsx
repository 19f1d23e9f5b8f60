/** Why the Timeline shows one span of a comparison, and how long its step is in both. */

import type { TimelineResult } from "../../api.gen";
import { scaleFor } from "../../format";
import type { Compared } from "../props";
import { stepOrWhole } from "../timeline/data/steps";
import { signed } from "./difference";

interface TimelineComparisonProps {
  result: TimelineResult;
  compared: Compared<"timeline">;
  /** Place of the step that is shown; null: there are no steps. */
  at: number | null;
  /** Opens the other span, at a step of it. */
  open(step: string | null): void;
}

export function TimelineComparison({ result, compared: { name, own, page }, at, open }: TimelineComparisonProps) {
  const here = stepOrWhole(result, at);
  const there = page.result.steps.find((step) => step.name === here.name) ?? null;
  return (
    <p class="quiet small aside">
      The Timeline draws one span at a time: this is {own}. {there && lengths(here, there, name)}{" "}
      <button class="link" onClick={() => open(there?.name ?? null)}>
        {there ? `Open step ${there.name} of ${name}` : `Open ${name}`}
      </button>
    </p>
  );
}

type Lasts = TimelineResult["steps"][number];

function lengths(here: Lasts, there: Lasts, name: string): string {
  const [own, other] = [here.end_ns - here.start_ns, there.end_ns - there.start_ns];
  const scale = scaleFor(Math.max(own, other), "ns");
  return `Step ${here.name} takes ${scale.text(own)}, in ${name} ${scale.text(other)} (${signed(own - other, scale)}).`;
}
