/** The timeline in words and as a table, for those who cannot see the picture. */

import type { SpanHead, TimelineResult, TimelineStep } from "../../api.gen";
import type { TableData } from "../../components/data_table";
import { counted, fine, ns } from "../../format";
import { lengthOf, rangeOf, type TimeRange, touches } from "../../time_range";
import { capital } from "../../words";
import { stepText } from "../choices";
import { type Box, boxAt, inSight } from "./data/boxes";
import type { Layer } from "./data/pages";
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

/** A table with more rows would help nobody; the link of the picture names its range. */
const MOST_ROWS = 20_000;

export const stepTitle = (step: TimelineStep, { steps_by }: Pick<SpanHead, "steps_by">): string =>
  `${step.name === "" ? "The whole trace" : capital(stepText(step.name, steps_by))}, ${ns(lengthOf(rangeOf(step)))}`;

/** Why the timeline opened with this step; "" where the user chose it, or there is no other. */
export function whyStep(
  { steps }: TimelineResult,
  step: TimelineStep,
  isChosen: boolean,
  first: string | null,
): string {
  if (isChosen || steps.length < 2) return "";
  return step.name === first ? "the step of the first card" : `median length of ${steps.length} steps`;
}

/** "12.3 ms of it visible"; "" where all of it is. */
export function visibleText(step: TimelineStep, visible: TimeRange): string {
  const own = rangeOf(step);
  if (!touches(own, visible))
    return `visible: ${ns(Math.round(lengthOf(visible)))} ${visible.to <= own.from ? "before" : "after"} it`;
  const common = Math.min(own.to, visible.to) - Math.max(own.from, visible.from);
  return common >= lengthOf(own) ? "" : `${ns(Math.round(common))} of it visible`;
}

/** Every visible box, in the order of the tracks. */
export function tableOf(layers: readonly Layer[], layout: Layout, step: TimelineStep): TableData {
  const rows = layers.flatMap((layer) =>
    [...layer.boxes.rows.values()].flatMap((row) => {
      const { first, end } = inSight(layer.boxes, row, layer);
      return Array.from({ length: end - first }, (_, at) => boxAt(layer.boxes, first + at)).map((box) => {
        const track = layout.tracks.get(box.track)?.track;
        return [
          [track?.group, track?.label].filter(Boolean).join(", "),
          box.name,
          box.from - step.start_ns,
          box.to - box.from,
          box.count,
        ] as const;
      });
    }),
  );
  return {
    columns: [
      { label: "Where" },
      { label: "Name" },
      { label: step.name === "" ? "Start" : "Start in the step", unit: "ns" },
      { label: "Length", unit: "ns" },
      { label: "Events", unit: "count" },
    ],
    rows: rows.slice(0, MOST_ROWS),
  };
}
