import type { IdleNs, PartMeaning } from "../../api.gen";
import { InlineBar } from "../../components/inline_bar";
import type { Scale } from "../../format";

/** The sum over the reasons. */
export function idleOf(idle: IdleNs): number {
  return Object.values(idle).reduce((sum: number, part: number) => sum + part, 0);
}

interface IdleBarProps {
  idle: IdleNs;
  reasons: readonly PartMeaning[];
  /** What fills the cell, ns. */
  longest: number;
  scale: Scale;
}

/** Idle time as a bar in the colours of its reasons, with its figure; the reasons' own figures on hover. */
export function IdleCell({ idle, reasons, longest, scale }: IdleBarProps) {
  const parts = reasons
    .map((reason) => ({ ...reason, ns: idle[reason.id as keyof IdleNs] }))
    .filter((part) => part.ns > 0);
  const pieces = parts.map(({ ns, colour, hatched }) => ({ colour, hatched, share: longest ? ns / longest : 0 }));
  return (
    <span class="total" title={parts.map(({ label, ns }) => `${label} ${scale.text(ns)}`).join("\n")}>
      <InlineBar pieces={pieces} />
      {scale.text(idleOf(idle))}
    </span>
  );
}
