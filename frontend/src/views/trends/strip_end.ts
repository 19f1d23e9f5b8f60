/** How far the axis of the strips goes: spans of some runs that are far longer would leave all others a few pixels. */

/** So many times as long as the longest of the others: these had less than a quarter of the width. */
const FAR = 4;

/** Of the runs, at most this share goes on beyond the axis, or one. */
const FEW = 0.25;

/** ns; null: to the end of the longest. lengths: of each run the longest span, that of the run in focus first. */
export function stripEnd([focus = 0, ...others]: readonly number[]): number | null {
  const longest = others.sort((a, b) => b - a);
  const most = Math.max(1, Math.floor(FEW * (others.length + 1)));
  const end = (cut: number) => Math.max(focus, longest[cut] ?? 0);
  for (let cut = Math.min(most, longest.length); cut > 0; cut--)
    if (longest[cut - 1]! > FAR * end(cut)) return end(cut) || null;
  return null;
}
