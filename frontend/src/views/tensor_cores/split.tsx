/** Kernel time by bin: of the span, of the span that is compared with, and of each step. */

import { max, sum } from "d3-array";
import { stepInTimeline } from "../../address/selection";
import type { DeviceSplit, Phrase } from "../../api.gen";
import { StackedBars } from "../../charts/bars/stacked_bars";
import type { StopSelection } from "../../charts/pointer/pointing";
import { partRow } from "../../charts/pointer/tip";
import { Picture } from "../../components/picture";
import { Details } from "../../components/sentence";
import { percent, rangeText, scaleFor } from "../../format";
import { sentence } from "../../phrase";
import { readingOf } from "../choices";
import type { Names, Tab, ViewPart } from "../props";
import { type Bin, binsOf, KernelTime, matrixUnits, shownBins } from "./bins";

export type OtherSplit = Names & { device: DeviceSplit };

interface SplitProps extends ViewPart {
  device: DeviceSplit;
  title: Phrase;
  /** The sum over all kernels, as text. */
  kernelTime: Phrase;
  other: OtherSplit | null;
}

/** Kernel time in four bins, and the figure of the PyTorch Profiler tab. */
export function SplitPicture({ device, other, ...shown }: SplitProps) {
  const { tab } = shown;
  const perStep = ({ total: split, steps }: DeviceSplit) => ({
    split,
    reading: readingOf({ ...tab, steps: steps.length }),
  });
  return (
    <KernelTime
      {...shown}
      {...perStep(device)}
      details={countsAlike(device) ? " The PyTorch Profiler tab counts the same." : ""}
      table={() => splitTable(device, binsOf(tab.meanings))}
      other={other && { name: other.name, ...perStep(other.device) }}
    >
      <Counts device={device} tab={tab} />
    </KernelTime>
  );
}

/** Whether the PyTorch Profiler tab shows the figure that the legend has. */
const countsAlike = ({ profiler_tab_share: theirs, profiler_tab_why: why }: DeviceSplit): boolean =>
  theirs !== null && why === null;

/** Our figure where only its bounds are known, and that of the PyTorch Profiler tab where it differs, with why. */
function Counts({ device, tab }: { device: DeviceSplit; tab: Tab }) {
  const { share_low: low, share_high: high, unclassified, profiler_tab_share: theirs, profiler_tab_why: why } = device;
  const bounded = low !== null && high !== null && percent(low) !== percent(high);
  const own = unclassified !== null || bounded;
  if (!own && countsAlike(device)) return null;
  return (
    <dl class="counts">
      {own && (
        <>
          <dt>On {matrixUnits(tab.meanings)}</dt>
          <dd>
            {unclassified !== null ? (
              <>
                <b>{percent(unclassified)} unclassified</b>
                <span class="quiet">: the names of these kernels do not tell</span>
              </>
            ) : (
              bounded && <b>{sentence(between(low, high), "table")}</b>
            )}
            {unclassified === null && <Details text="The higher figure counts every kernel of which it is unknown." />}
          </dd>
        </>
      )}
      {!countsAlike(device) && (
        <>
          <dt>PyTorch Profiler tab</dt>
          <dd>
            <b>{percent(theirs)}</b>
            <Details text={why ? tab.meanings.explain(why) : "It is not known."} />
          </dd>
        </>
      )}
    </dl>
  );
}

/** "11.5 to 83.6 %" */
function between(low: number, high: number): Phrase {
  return {
    template: "{low} to {high}",
    values: { low: { value: low, unit: "fraction" }, high: { value: high, unit: "fraction" } },
  };
}

function splitTable({ total, steps }: DeviceSplit, bins: readonly Bin[]) {
  const row = (name: string, split: typeof total) => [name, split.kernel_ns, ...bins.map((bin) => bin.of(split))];
  return {
    columns: [
      { label: "Step" },
      { label: "Kernel time", unit: "ns" as const },
      ...bins.map((bin) => ({ label: bin.label, unit: "ns" as const })),
    ],
    rows: [...steps.map((step) => row(step.name, step.split)), row("all", total)],
  };
}

const TITLE = "Kernel time by step";

const HEIGHT = 172;

interface SplitStepsProps extends ViewPart {
  device: DeviceSplit;
  off: ReadonlySet<string>;
  chosen: StopSelection;
}

export function SplitSteps({ device, off, chosen, tab, name }: SplitStepsProps) {
  const { steps } = device;
  const names = steps.map((step) => step.name);
  const scale = scaleFor(max(steps, ({ split }) => split.kernel_ns) ?? 0, "ns");
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
        heads={steps.map((step) => scale.number(sum(shown, (bin) => bin.of(step.split))))}
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
            .map((bin) => {
              const ns = bin.of(steps[at]!.split);
              return partRow(bin, `${scale.text(ns)}, ${percent(ns / steps[at]!.split.kernel_ns)}`);
            }),
        })}
      />
    </Picture>
  );
}
