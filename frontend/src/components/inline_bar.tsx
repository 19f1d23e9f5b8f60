import { fillClass } from "../colour";

export interface BarPiece {
  /** Share of the column, 0-1. */
  share: number;
  colour: string;
  hatched?: boolean;
}

/** A bar within a table cell. Its figures stand beside it. */
export function InlineBar({ pieces }: { pieces: readonly BarPiece[] }) {
  return (
    <span class="ib" aria-hidden="true">
      {pieces
        .filter((piece) => piece.share > 0)
        .map((piece, at) => (
          <i key={at} class={fillClass(piece.colour, piece.hatched)} style={{ width: `${100 * piece.share}%` }} />
        ))}
    </span>
  );
}
