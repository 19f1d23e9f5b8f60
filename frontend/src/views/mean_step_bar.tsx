/**
 * The mean step as a bar, and below it the step as it could be, or the mean step of the span that is compared with.
 */

import type { ComponentChildren } from "preact";
import type { DecidingPath, PartMeaning } from "../api.gen";
import { ticks } from "../charts/axes";
import { type Filled, fillClass } from "../colour";
import { Details } from "../components/sentence";
import { hint } from "../dom/hint";
import { ns, type Scale, scaleFor, share, tick } from "../format";

interface StepPart extends Pick<PartMeaning, "id" | "label" | "colour" | "hatched"> {
  ns: number;
  /** Its short name in the bar, where that is not the label. */
  text?: string | undefined;
  /** What counts as this part: shown on hover. */
  meaning?: string;
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
  /** The time that does not repeat, which no verdict counts: it is hatched at the end of the bar. */
  leftOut_ns?: number;
}

/** The name of the bar of a recording of so many steps. */
export const stepName = (steps: number): string => (steps > 1 ? "Mean step" : "Step");

/** How much of the time under a brace does not repeat, and which kinds of time that is. */
export interface LeftOut {
  ns: number;
  kinds: string;
}

interface MeanStepBarProps {
  /** One sentence with the figures, in the unit of the bar. */
  label(scale: Scale): string;
  step: MeanStep;
  /** The mean step of the span that is compared with. */
  other: MeanStep | null;
  /** The two do different work: each has its own axis. */
  apart?: boolean;
  /** The step as it could be, where nothing is compared, and how much of it would be gone. */
  couldBe?: (Omit<MeanStep, "name"> & { name: ComponentChildren; saved_ns: number }) | null;
  /** The texts above the bar, each as wide as its part of the bar; the length of the whole stands at its end. */
  braces: readonly {
    label: string;
    ns: number;
    meaning?: string | undefined;
    whole?: boolean;
    more?: LeftOut | null;
  }[];
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
  const bar = ({
    name,
    ns: length,
    parts,
    details,
    missing_ns: missing = 0,
    leftOut_ns = 0,
  }: MeanStep): StepBarRow => ({
    label: <BarName name={name} mean_ns={length} details={details} />,
    value: scale.of(length),
    parts: parts.map((part) => drawn(part, scale, length)),
    thin: false,
    leftOut: scale.of(leftOut_ns),
    missing: missing > 0 ? notRecorded(missing, scale) : undefined,
  });
  const bars = [bar(step)];
  if (other) bars.push(bar(other));
  else if (couldBe)
    bars.push({
      label: couldBe.name,
      value: scale.of(couldBe.ns),
      parts: couldBe.parts.map((part) => drawn(part, scale, couldBe.ns)),
      thin: true,
      saved: {
        value: scale.of(couldBe.saved_ns),
        label: `${share(couldBe.saved_ns / (couldBe.ns + couldBe.saved_ns))} less`,
      },
    });
  return (
    <StepBar
      label={label(scale)}
      end={scale.of(longest)}
      endText={ns(longest)}
      braces={braces.map(({ label: words, ns: length, meaning, whole = false, more = null }) => ({
        value: scale.of(length),
        label: (
          <>
            <span {...hint(meaning)}>
              {words}
              {!whole && (
                <>
                  {" "}
                  <b>{scale.text(length)}</b>, {share(step.ns ? length / step.ns : null)}
                </>
              )}
            </span>
            {more && (
              <span {...hint(more.kinds)}>
                ; <b>{ns(more.ns)}</b> does not repeat
              </span>
            )}
          </>
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

const drawn = (
  { id, label, colour, hatched, ns: length, text, meaning = "" }: StepPart,
  scale: Scale,
  whole: number,
): StepBarPart => ({
  ...{ id, colour, hatched, text: `${text ?? label} ${scale.number(length)}` },
  value: scale.of(length),
  title: `${label} ${scale.text(length)}, ${share(length / whole)}. ${meaning}`.trim(),
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

interface StepBarPart extends Filled {
  id: string;
  /** In the unit of the axis. */
  value: number;
  /** Name and length, shown on hover. */
  title: string;
  /** Written in a bar that is not thin, where there is room for all of it. */
  text: string;
}

interface StepBarRow {
  /** Its name and length. It stands above the bar, or where the bar has no second of its kind, at the axis' end. */
  label: ComponentChildren;
  /** Its length, in the unit of the axis. */
  value: number;
  parts: readonly StepBarPart[];
  thin: boolean;
  /** How much of its end is hatched. */
  leftOut?: number;
  /** What is saved against the first bar, drawn dashed at the end of this one. */
  saved?: { value: number; label: string };
  /** The part of the step that the recording lacks, drawn dashed at the end of the bar. */
  missing?: { value: number; label: string; title: string } | undefined;
}

interface Brace {
  value: number;
  label: ComponentChildren;
}

interface StepBarProps {
  label: string;
  /** End of the axis, in its unit. */
  end: number;
  /** The label at the end of the axis where the bars have names of their own: "177.6 ms". */
  endText: string;
  braces: readonly Brace[];
  bars: readonly StepBarRow[];
  off: ReadonlySet<string>;
  /** Shown below the axis, from the left edge of the bars on. */
  children?: ComponentChildren;
}

function StepBar({ label, end, endText, braces, bars, off, children }: StepBarProps) {
  const single = bars.filter((bar) => !bar.thin).length === 1;
  const named = single ? bars[0]!.value : end;
  return (
    <figure class="step-bar" aria-label={label}>
      {!single && <span class="row-name">{bars[0]!.label}</span>}
      {braces.length > 0 && (
        <div class="brace">
          {braces.map((brace, at) => (
            <BraceMark key={at} brace={brace} end={end} last={at > 0 && tight(braces, end)} />
          ))}
        </div>
      )}
      {bars.map((bar, at) => (
        <Bar key={at} bar={bar} named={at > 0} end={end} off={off} />
      ))}
      <div class="ticks">
        {labelled(end, named).map((at) => (
          <span key={at} class={crowding(at, end, named)} style={{ left: percent(at, end) }} aria-hidden="true">
            {tick(at)}
          </span>
        ))}
        <span class="end" style={{ left: `max(${percent(named, end)}, 18ch)` }}>
          {single ? bars[0]!.label : endText}
        </span>
      </div>
      {children && <div class="under">{children}</div>}
    </figure>
  );
}

/**
 * A brace narrower than this share of the bar cannot hold its text: then the text of the last one is at the right end.
 */
const TIGHT = 0.25;

const tight = (braces: readonly Brace[], end: number): boolean => braces.some((brace) => brace.value < TIGHT * end);

function BraceMark({ brace, end, last }: { brace: Brace; end: number; last: boolean }) {
  return (
    <span class={last ? "last" : ""} style={{ width: percent(brace.value, end) }}>
      <span>{brace.label}</span>
    </span>
  );
}

/** Parts under this share of the bar are under a third of a pixel: they appear in the legend only. */
const LEAST = 0.0003;

interface BarProps {
  bar: StepBarRow;
  /** Its name stands above it. */
  named: boolean;
  end: number;
  off: ReadonlySet<string>;
}

/** A text for which its part has no room wraps to a second line, which is not shown. */
function Bar({ bar, named, end, off }: BarProps) {
  const drawn = bar.parts.filter((part) => part.value > LEAST * end && !off.has(part.id));
  return (
    <>
      {named && <span class={bar.thin ? "row-name thin" : "row-name"}>{bar.label}</span>}
      <div class={bar.thin ? "stack thin" : "stack"}>
        {drawn.map((part) => (
          <i
            key={part.id}
            class={fillClass(part.colour, part.hatched)}
            style={{ width: percent(part.value, end) }}
            data-hint={part.title}
          >
            {!bar.thin && <span>{part.text}</span>}
          </i>
        ))}
        {bar.leftOut ? (
          <i
            class={`${fillClass("ink", true)} left-out`}
            style={{ left: percent(bar.value - bar.leftOut, end), width: percent(bar.leftOut, end) }}
          />
        ) : null}
        {bar.saved && bar.saved.value > 0 && (
          <i class="saved" style={{ width: percent(bar.saved.value, end) }}>
            <span>{bar.saved.label}</span>
          </i>
        )}
        {bar.missing && (
          <i class="saved" style={{ width: percent(bar.missing.value, end) }} data-hint={bar.missing.title}>
            <span>{bar.missing.label}</span>
          </i>
        )}
      </div>
    </>
  );
}

/** A tick less than this before the end of the bar would overlap its name; one just behind it would, too. */
const NEAR_END = 0.16;
const BEHIND = 0.02;

/** The labelled ticks, except at the name of the bar that ends at `named`, and at the end of the axis. */
const labelled = (end: number, named: number): number[] =>
  ticks(0, end, 10).filter(
    (at) => at < (1 - BEHIND) * end && (at < named - NEAR_END * end || at > named + BEHIND * end),
  );

/** Up to this share of the axis is taken by the bar's name in a frame of 740 px, and in one of 500 px. */
const NARROW_END = 0.28;
const SMALL_END = 0.4;

function crowding(at: number, end: number, named: number): string {
  const before = (named - at) / end;
  return before < 0 || before > SMALL_END ? "" : before > NARROW_END ? "crowded" : "crowded soon";
}

const percent = (value: number, end: number): string => `${((100 * value) / end).toFixed(3)}%`;
