/**
 * The mean step as a bar, and below it the step as it could be, or the mean step of the span that is compared with.
 */

import type { ComponentChildren } from "preact";
import type { DecidingPath, PartMeaning } from "../api.gen";
import { StepBar, type StepBarPart, type StepBarRow } from "../charts/bars/step_bar";
import { Details } from "../components/sentence";
import { hint } from "../dom/hint";
import { ns, type Scale, scaleFor, share } from "../format";

interface StepPart extends Pick<PartMeaning, "id" | "label" | "colour" | "hatched"> {
  ns: number;
  /** Its short name in the bar, where that is not the label. */
  text?: string | undefined;
}

/** A mean step, and the name of its span. */
export interface MeanStep {
  name: string;
  ns: number;
  parts: readonly StepPart[];
  /** What the hint beside its length says. */
  details?: string;
  /** An estimate of the GPU time that is missing, where the end of the recording is cut off. */
  missing_ns?: number;
}

interface MeanStepBarProps {
  /** One sentence with the figures, in the unit of the bar. */
  label(scale: Scale): string;
  step: MeanStep;
  /** The mean step of the span that is compared with. */
  other: MeanStep | null;
  /** The two do different work: each has its own axis. */
  apart?: boolean;
  /** The step as it could be, where nothing is compared. */
  couldBe?: (Omit<MeanStep, "name"> & { name: ComponentChildren }) | null;
  /** The texts above the bar, each as wide as its part of the bar; the length of the whole stands at its end. */
  braces: readonly { label: string; ns: number; meaning?: string | undefined; whole?: boolean }[];
  off: ReadonlySet<string>;
  children?: ComponentChildren;
}

export function MeanStepBar(props: MeanStepBarProps) {
  const { label, step, other, apart = false, couldBe = null, braces, off, children } = props;
  if (other && apart)
    return (
      <>
        <MeanStepBar {...props} other={null} couldBe={null} children={undefined} />
        <MeanStepBar label={() => `${other.name}: ${ns(other.ns)}.`} step={other} other={null} braces={[]} off={off}>
          {children}
        </MeanStepBar>
      </>
    );
  const longest = Math.max(...[step, other].map((each) => (each ? each.ns + (each.missing_ns ?? 0) : 0)));
  const scale = scaleFor(longest, "ns");
  const bar = ({ name, ns: length, parts, details, missing_ns: missing = 0 }: MeanStep): StepBarRow => ({
    label: <BarName name={name} mean_ns={length} details={details} />,
    parts: parts.map((part) => drawn(part, scale)),
    thin: false,
    missing: missing > 0 ? notRecorded(missing, scale) : undefined,
  });
  const bars = [bar(step)];
  if (other) bars.push(bar(other));
  else if (couldBe)
    bars.push({
      label: couldBe.name,
      parts: couldBe.parts.map((part) => drawn(part, scale)),
      thin: true,
      saved: { value: scale.of(step.ns - couldBe.ns), label: `${share((step.ns - couldBe.ns) / step.ns)} less` },
    });
  return (
    <StepBar
      label={label(scale)}
      end={scale.of(longest)}
      endText={ns(longest)}
      braces={braces.map(({ label: words, ns: length, meaning, whole = false }) => ({
        value: scale.of(length),
        label: (
          <span {...hint(meaning)}>
            {words}
            {!whole && (
              <>
                {" "}
                <b>{scale.text(length)}</b>, {share(step.ns ? length / step.ns : null)}
              </>
            )}
          </span>
        ),
      }))}
      bars={bars}
      off={off}
    >
      {children}
    </StepBar>
  );
}

const notRecorded = (missing_ns: number, scale: Scale) => ({
  value: scale.of(missing_ns),
  label: "not recorded",
  title: `Not recorded: est. ${scale.text(missing_ns)} of GPU time, if each launch takes as long as the recorded ones`,
});

const drawn = ({ id, label, colour, hatched, ns: length, text }: StepPart, scale: Scale): StepBarPart => ({
  ...{ id, colour, hatched, text: `${text ?? label} ${scale.number(length)}` },
  value: scale.of(length),
  title: `${label} ${scale.text(length)}`,
});

function BarName({ name, mean_ns, details }: { name: string; mean_ns: number; details: string | undefined }) {
  return (
    <>
      <span class="clip" {...hint(name)}>
        {name}
      </span>{" "}
      <b>{ns(mean_ns)}</b>
      <Details text={details} />
    </>
  );
}

const NONE: ReadonlySet<string> = new Set();

/**
 * The path that decides how long a step of the job is: work, transfers, and the lateness of each rank, which add up to
 * it.
 */
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
        { label: "Work and transfers", ns: works },
        { label: "All wait for late ranks", ns: path.step_ns - works },
      ]}
      off={NONE}
    />
  );
}
