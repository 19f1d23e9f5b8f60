/** What the colours of a rank's time mean, followed by further entries of a picture. */

import type { ComponentChildren } from "preact";
import { Swatch } from "../../colour";

export function RankLegend({ comm, children }: { comm: string; children?: ComponentChildren }) {
  return (
    <p class="rank-legend">
      <span>
        <Swatch colour="kernel" /> own time
      </span>
      <span>
        <Swatch colour="comm" hatched /> waits for others
      </span>
      <span>
        <Swatch colour="comm" /> {comm}
      </span>
      {children}
    </p>
  );
}
