/** One whole in parts, as one bar. Order and hatch say what colour says; a part under a third of a pixel is not drawn. */

import { fillClass } from "../colour";

export interface SplitPart {
  id: string;
  colour: string;
  hatched: boolean;
  /** Share of the whole, 0-1. */
  share: number;
  title: string;
}

interface SplitBarProps {
  /** One sentence with the figures. */
  label: string;
  parts: readonly SplitPart[];
  off: ReadonlySet<string>;
}

const LEAST = 0.0003;

/** A hidden part leaves its room, so that the others keep their place on the scale. */
export function SplitBar({ label, parts, off }: SplitBarProps) {
  return (
    <div class="split-bar" role="img" aria-label={label}>
      {parts
        .filter((part) => part.share > LEAST)
        .map((part) => (
          <i
            key={part.id}
            class={off.has(part.id) ? "gone" : fillClass(part.colour, part.hatched)}
            style={{ flexGrow: part.share }}
            title={part.title}
          />
        ))}
    </div>
  );
}
