/** A whole and its parts as one bar: a picture of its own, or small within a table cell. */

import type { ComponentChildren } from "preact";
import { type Filled, fillClass } from "../../colour";

export interface SplitPart extends Filled {
  id: string;
  /** Share of the whole, 0-1. */
  share: number;
  title: string;
}

interface SplitBarProps {
  /** One sentence with the figures. */
  label: string;
  parts: readonly SplitPart[];
  off?: ReadonlySet<string>;
}

const LEAST = 0.0003;

/** A hidden part leaves its space empty, so that the others keep their place on the scale. */
export function SplitBar({ label, parts, off }: SplitBarProps) {
  return (
    <div class="split-bar" role="img" aria-label={label}>
      {parts
        .filter((part) => part.share > LEAST)
        .map((part) => (
          <i
            key={part.id}
            class={off?.has(part.id) ? "gone" : fillClass(part.colour, part.hatched)}
            style={{ flexGrow: part.share }}
            data-hint={part.title}
          />
        ))}
    </div>
  );
}

export interface BarSegment {
  /** Share of the column, 0-1. */
  share: number;
  colour: string;
  hatched?: boolean;
}

/** A bar within a table cell. Its figures are next to it. */
export function InlineBar({ segments }: { segments: readonly BarSegment[] }) {
  return (
    <span class="ib" aria-hidden="true">
      {segments
        .filter((segment) => segment.share > 0)
        .map((segment, at) => (
          <i key={at} class={fillClass(segment.colour, segment.hatched)} style={{ width: `${100 * segment.share}%` }} />
        ))}
    </span>
  );
}

interface FigureBarProps {
  segments: readonly BarSegment[];
  hint?: string | undefined;
  children: ComponentChildren;
}

export function FigureBar({ segments, hint, children }: FigureBarProps) {
  return (
    <span class="total" data-hint={hint}>
      <InlineBar segments={segments} />
      {children}
    </span>
  );
}
