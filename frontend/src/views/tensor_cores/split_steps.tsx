import { stepInTimeline } from "../../address/timeline";
import type { DeviceSplit } from "../../api.gen";
import { StackedBars } from "../../charts/bars/stacked_bars";
import { Swatch } from "../../colour";
import { Picture } from "../../components/picture";
import { percent, rangeText, scaleFor } from "../../format";
import type { StepSelection } from "../choices";
import type { Tab } from "../props";
import { binsOf, shownBins } from "./bins";
import { splitTable } from "./split";

const TITLE = "Kernel time of each step";

const HEIGHT = 172;

interface SplitStepsProps {
  device: DeviceSplit;
  off: ReadonlySet<string>;
  chosen: StepSelection;
  tab: Tab;
  name: string;
}

/** The split of each step. */
export function SplitSteps({ device, off, chosen, tab, name }: SplitStepsProps) {
  const { steps } = device;
  const names = steps.map((step) => step.name);
  const scale = scaleFor(
    steps.reduce((most, step) => Math.max(most, step.split.kernel_ns), 0),
    "ns",
  );
  const shown = shownBins(tab.meanings, off);
  const place = (key: string | null) => (key !== null && names.includes(key) ? names.indexOf(key) : null);
  const keyAt = (at: number | null) => (at === null ? null : (names[at] ?? null));
  const spoken = steps
    .slice(0, 8)
    .map((step) => `step ${step.name} ${scale.text(step.split.kernel_ns)}`)
    .join(", ");
  return (
    <Picture title={TITLE} name={`kernel time by step ${name}`} table={() => splitTable(device, binsOf(tab.meanings))}>
      <StackedBars
        height={HEIGHT}
        label={`Kernel time of steps ${rangeText(names[0]!, names[names.length - 1]!)}, split in four: ${spoken}.`}
        names={names}
        unit={scale.unit}
        axis="step"
        heads={steps.map((step) => scale.number(shown.reduce((sum, bin) => sum + bin.of(step.split), 0)))}
        firm={names.map(() => false)}
        parts={shown.map((bin) => ({
          id: bin.id,
          colour: bin.colour,
          hatched: bin.hatched,
          values: steps.map((step) => scale.of(bin.of(step.split))),
        }))}
        hovered={place(chosen.hovered)}
        selected={place(chosen.selected)}
        hover={(at) => chosen.hover(keyAt(at))}
        open={(at) => tab.update(stepInTimeline(names[at] ?? null))}
        select={(at) => chosen.select(keyAt(at) ?? chosen.selected)}
        tip={(at) => ({
          title: `Step ${names[at]}, ${scale.text(steps[at]!.split.kernel_ns)} of kernel time`,
          rows: shown
            .filter((bin) => bin.of(steps[at]!.split) > 0)
            .map((bin) => ({
              mark: <Swatch colour={bin.colour} hatched={bin.hatched} />,
              name: bin.label,
              value:
                `${scale.text(bin.of(steps[at]!.split))}, ` +
                `${percent(bin.of(steps[at]!.split) / steps[at]!.split.kernel_ns)}`,
            })),
        })}
      />
    </Picture>
  );
}
