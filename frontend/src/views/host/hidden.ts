/** Parts that are hidden in one picture are hidden in the other: the step is cut into pieces, its idle time into reasons. */

import type { Piece } from "../../api.gen";

/** Reasons of which no piece that has any length is shown. */
export function hiddenReasons(pieces: readonly Piece[], off: ReadonlySet<string>): ReadonlySet<string> {
  const reasons = new Set(pieces.flatMap((piece) => piece.reasons));
  return new Set([...reasons].filter((reason) => piecesOf(pieces, reason).every((piece) => off.has(piece.id))));
}

/** What is hidden after a press on a reason: all its pieces, or none of them. */
export function withToggled(pieces: readonly Piece[], reason: string, off: ReadonlySet<string>): ReadonlySet<string> {
  const [next, shown] = [new Set(off), !hiddenReasons(pieces, off).has(reason)];
  for (const { id } of piecesOf(pieces, reason))
    if (shown) next.add(id);
    else next.delete(id);
  return next;
}

/** Those that are drawn; of a reason that no bar of the mean step shows, all. */
function piecesOf(pieces: readonly Piece[], reason: string): readonly Piece[] {
  const of = pieces.filter((piece) => piece.reasons.includes(reason));
  const drawn = of.filter((piece) => piece.ns > 0);
  return drawn.length > 0 ? drawn : of;
}
