/** What the arrow keys selected, in words for those who hear the picture. */

import type { TimelineStep } from "../../api.gen";
import { counted, fine } from "../../format";
import { touches } from "../../time_range";
import type { Box } from "./data/boxes";
import { rangeOf } from "./data/steps";
import { isFolded, type Layout } from "./layout";

/** "Stream 7, gemm, 1.2 ms, step 3" */
export function spokenBox(box: Box, layout: Layout, steps: readonly TimelineStep[]): string {
  const step = steps.find((each) => touches(rangeOf(each), box));
  return [
    layout.tracks.get(box.track)?.name,
    box.count > 1 ? `${counted(box.count, "event")}, the longest ${box.name}` : box.name,
    fine(box.to - box.from),
    step ? `step ${step.name}` : "outside the steps",
  ]
    .filter(Boolean)
    .join(", ");
}

/** "Stream 7, GPU 0, pinned, 2 rows, folded" */
export function spokenHead(track: number, layout: Layout): string {
  const place = layout.tracks.get(track);
  if (!place) return "";
  const { name, rows, pinned } = place;
  const group = place.track.group;
  return [
    `Track ${name}`,
    name.startsWith(group) ? "" : group,
    pinned ? "pinned" : "",
    rows > 1 ? `${counted(rows, "row")}, ${isFolded(place) ? "folded" : "open"}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}
