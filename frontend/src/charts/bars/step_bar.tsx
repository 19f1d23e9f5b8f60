/**
 * The mean step as one bar: work on the left, waiting on the right, each part in its colour; below it the step as it
 * could be.
 */

import type { ComponentChildren } from "preact";
import { type Filled, fillClass } from "../../colour";
import { tick } from "../../format";
import { ticks } from "../axes";

export interface StepBarPart extends Filled {
  id: string;
  /** In the unit of the axis. */
  value: number;
  /** Name and length, shown on hover. */
  title: string;
  /** Written in a bar that is not thin, where there is room for all of it. */
  text: string;
}

export interface StepBarRow {
  /** Its name and length. It stands above the bar, or where the bar has no second of its kind, at the axis' end. */
  label: ComponentChildren;
  parts: readonly StepBarPart[];
  thin: boolean;
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

export function StepBar({ label, end, endText, braces, bars, off, children }: StepBarProps) {
  const single = bars.filter((bar) => !bar.thin).length === 1;
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
        {labelled(end).map((at) => (
          <span key={at} style={{ left: percent(at, end) }} aria-hidden="true">
            {tick(at)}
          </span>
        ))}
        <span class="end">{single ? bars[0]!.label : endText}</span>
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

/** A tick closer to the end than this would overlap the label of the end. */
const NEAR_END = 0.16;

const labelled = (end: number): number[] => ticks(0, end, 10).filter((at) => at < (1 - NEAR_END) * end);

const percent = (value: number, end: number): string => `${((100 * value) / end).toFixed(3)}%`;
