/** Idle time by reason: its sum, its bar in a table cell, and which reasons a legend hides. */

import type { IdleNs, PartMeaning, Segment } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import type { Write } from "../../components/figures";

/** The sum over the reasons. */
export function idleOf(idle: IdleNs): number {
  return Object.values(idle).reduce((sum: number, part: number) => sum + part, 0);
}

interface IdleBarProps {
  idle: IdleNs;
  reasons: readonly PartMeaning[];
  /** The time that fills the cell, ns. */
  longest: number;
  write: Write;
}

/** Idle time as a bar in the colours of its reasons, with its figure; the figures of the reasons are shown on hover. */
export function IdleCell({ idle, reasons, longest, write }: IdleBarProps) {
  const parts = reasons
    .map((reason) => ({ ...reason, ns: idle[reason.id as keyof IdleNs] }))
    .filter((part) => part.ns > 0);
  const segments = parts.map(({ ns, colour, hatched }) => ({ colour, hatched, share: longest ? ns / longest : 0 }));
  return (
    <span class="total" data-hint={parts.map(({ label, ns }) => `${label} ${write(ns)}`).join("\n")}>
      <InlineBar segments={segments} />
      {write(idleOf(idle))}
    </span>
  );
}

/** Reasons of which no segment with any length is shown. */
export function hiddenReasons(segments: readonly Segment[], off: ReadonlySet<string>): ReadonlySet<string> {
  const reasons = new Set(segments.flatMap((segment) => segment.reasons));
  return new Set([...reasons].filter((reason) => segmentsOf(segments, reason).every((segment) => off.has(segment.id))));
}

/** What is hidden after a click on a reason: all its segments, or none of them. */
export function withToggled(
  segments: readonly Segment[],
  reason: string,
  off: ReadonlySet<string>,
): ReadonlySet<string> {
  const [next, shown] = [new Set(off), !hiddenReasons(segments, off).has(reason)];
  for (const { id } of segmentsOf(segments, reason))
    if (shown) next.add(id);
    else next.delete(id);
  return next;
}

/** The segments of a reason that are drawn; all of them, where the bar of the mean step shows none. */
function segmentsOf(segments: readonly Segment[], reason: string): readonly Segment[] {
  const of = segments.filter((segment) => segment.reasons.includes(reason));
  const drawn = of.filter((segment) => segment.ns > 0);
  return drawn.length > 0 ? drawn : of;
}
