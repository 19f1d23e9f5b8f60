import type { ComponentChildren } from "preact";
import { hint } from "../dom/hint";
import type { Figure } from "../format";

interface TileProps {
  label: string;
  /** What the figure means, on hover. */
  meaning: string;
  figure: Figure;
  /** A second figure on the same line, when two spans are compared. */
  other?: Figure | undefined;
  spark?: ComponentChildren;
  /** The change line: how the figure moves, or why there is none. */
  remark?: ComponentChildren;
}

/** A figure with its name, its line over the steps and what changed. All tiles have one height, whatever is known. */
export function Tile({ label, meaning, figure, other, spark, remark }: TileProps) {
  return (
    <li {...hint(meaning)}>
      <div class="k">{label}</div>
      <div class="v">
        <div>
          <Value figure={figure} />
          {other && (
            <small class="other">
              <Value figure={other} />
            </small>
          )}
        </div>
        {spark}
      </div>
      <div class="d">{remark ?? "\u00a0"}</div>
    </li>
  );
}

function Value({ figure: { number, unit } }: { figure: Figure }) {
  return (
    <>
      {number}
      {unit && <span>{unit}</span>}
    </>
  );
}

/** Tiles in a row; `wide` says a screen reader what they are. */
export function Tiles({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <ul class="tiles" aria-label={label}>
      {children}
    </ul>
  );
}

/** A tile before its figure comes: its place and name, so that nothing moves later. */
export function TilePlace({ label }: { label: string }) {
  return (
    <li>
      <div class="k">{label}</div>
      <div class="v">
        <div class="place" />
      </div>
      <div class="d">{"\u00a0"}</div>
    </li>
  );
}
