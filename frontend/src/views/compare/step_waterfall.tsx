/** From the mean step of the base to that of the candidate: what made it shorter, and what longer. */

import { useMemo } from "preact/hooks";
import type { Waterfall as Found } from "../../api.gen";
import { Chips } from "../../components/chips";
import { Picture } from "../../components/picture";
import { counted, type Scale } from "../../format";
import { readingOf } from "../choices";
import type { Pair, Tab } from "../props";
import { type FallRow, Waterfall } from "./charts/waterfall";
import { intervalText } from "./interval";
import { stepScales } from "./step_scales";
import { fallRows, OF_KERNELS, spokenOf, WAYS, waterfallTable, waterfallTip } from "./waterfall_rows";

export function StepWaterfall({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { found, name, own } = pair;
  const { step, waterfalls } = found.comparison;
  const shown = waterfalls.find(({ by }) => by === tab.state.way) ?? waterfalls[0]!;
  const { unit } = readingOf(tab);
  const scales = useMemo(() => stepScales([step.base_ns, step.candidate_ns], unit), [step, unit]);
  const scale = scales.all;
  const rows = useMemo(() => fallRows(shown, found.labels, tab.meanings, scale), [shown, found, tab.meanings, scale]);
  const steps = `${counted(step.base_steps, "step")} and ${counted(step.candidate_steps, "step")}`;
  return (
    <Picture
      title={titleOf(pair, scale)}
      below
      sub={`means of ${steps}, with 95 % intervals`}
      name={`change by ${shown.by} ${own} ${name}`}
      table={() => waterfallTable(shown, found.labels, pair)}
      link={() => tab.address()}
    >
      <Chips
        label="Split the change by"
        name="Split by"
        chosen={shown.by}
        options={waterfalls.map(({ by }) => ({ id: by, ...WAYS[by] }))}
        choose={(way) => tab.update({ way: way === "part" ? null : way })}
      />
      <Waterfall
        label={spokenOf(pair, rows, scale)}
        base={{ label: name, value: step.base_ns, figure: scales.of(step.base_ns).text(step.base_ns), aside: "" }}
        rows={rows}
        candidate={{
          label: own,
          value: step.candidate_ns,
          figure: scales.of(step.candidate_ns).text(step.candidate_ns),
          aside: intervalText(step, scale),
        }}
        scale={scale}
        tip={waterfallTip(pair, shown, rows, scale)}
      />
      <LeftOut shown={shown} rows={rows} split={waterfalls.some(({ by }) => by === "kernel")} />
    </Picture>
  );
}

function titleOf({ found, own }: Pair, scale: Scale): string {
  const { base_ns, candidate_ns, distinguishable } = found.comparison.step;
  const moved = scale.text(Math.abs(candidate_ns - base_ns));
  if (candidate_ns === base_ns || distinguishable === false) return "What is a step made of in both?";
  return `What makes a step of ${own} ${moved} ${candidate_ns < base_ns ? "shorter" : "longer"}?`;
}

/** What the picture does not show. split: whether kernels are known on both sides. */
function LeftOut({ shown, rows, split }: { shown: Found; rows: readonly FallRow[]; split: boolean }) {
  const same = shown.rows.length - rows.length;
  const more = shown.more > 0 ? `${counted(shown.more, shown.by)} that changed less, ` : "";
  const said = [
    same > 0 && `${counted(same, "row")} did not change and ${same === 1 ? "is" : "are"} not drawn.`,
    OF_KERNELS.includes(shown.by) &&
      `The rest of the step: ${more}idle time and copies, less what kernels run at the same time.`,
    !split && "Kernels are not recorded on both sides, so that nothing is split by module, op or kernel.",
  ].filter((each) => each !== false);
  return said.length === 0 ? null : <p class="quiet small aside">{said.join(" ")}</p>;
}
