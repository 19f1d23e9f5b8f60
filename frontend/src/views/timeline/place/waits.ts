/**
 * When the device waits in a place: its track, hatched between one piece of work and the next, with lengths where there
 * is room.
 *
 *     stream  [gemm]////22 µs////[relu]///53 µs///[gemm]
 */

import type { Track } from "../../../api.gen";
import { type Pen, plated, stripes } from "../../../charts/canvas/canvas";
import { textWidth } from "../../../dom/text_width";
import { ns } from "../../../format";
import type { TimeRange } from "../../../time_range";
import { type Boxes, inSight, rowKey } from "../data/boxes";
import { boxHeight, rowTop } from "../layout";
import { BOX_PX, type Scene, topOf } from "../scene";

/** A narrower wait is not hatched: its stripes would look like a piece of work. */
const LEAST_PX = 3;

/** The space on both sides of a length. */
const BESIDE_PX = 4;

/** The waits of a stream that begin and end in sight. */
export function waitsOf(boxes: Boxes, stream: Track, visible: TimeRange): TimeRange[] {
  const row = boxes.rows.get(rowKey(stream.id, 0));
  const waits: TimeRange[] = [];
  if (!row) return waits;
  const { first, end } = inSight(boxes, row, visible);
  let until = boxes.to[first] ?? 0;
  for (let at = first + 1; at < end; at++) {
    if (boxes.from[at]! > until) waits.push({ from: until, to: boxes.from[at]! });
    until = Math.max(until, boxes.to[at]!);
  }
  return waits;
}

/** Paints the waits, and up to the edges of the picture the time for which it shows no work. */
export function paintWaits(pen: Pen, scene: Scene, boxes: Boxes, stream: Track): void {
  const top = rowTop(scene.layout, stream.id, 0);
  if (top === null) return;
  const { palette, time, visible } = scene;
  const y = topOf(scene, { top });
  const tall = boxHeight(scene.layout.tracks.get(stream.id)!.row_px);
  const hatch = stripes(pen, palette.third);
  pen.font = palette.fonts.axis;
  pen.textBaseline = "middle";
  const within = waitsOf(boxes, stream, visible);
  for (const { from, to } of [...within, ...atEdges(boxes, stream, visible)]) {
    const [left, right] = [time.clampedX(from), time.clampedX(to)];
    if (right - left < LEAST_PX) continue;
    pen.fillStyle = hatch;
    pen.fillRect(left, y, right - left, tall);
  }
  for (const { from, to } of within) {
    if (to === scene.chosen?.start_ns) continue; // the wait before the chosen work is told of with its reason
    const [left, right] = [time.clampedX(from), time.clampedX(to)];
    const length = ns(to - from);
    const wide = textWidth(length);
    if (wide + 2 * BESIDE_PX > right - left) continue;
    plated(pen, length, (left + right - wide) / 2, y + BOX_PX / 2, palette.ink, palette.surface);
  }
}

/** Before the first piece of work in sight and after the last one; all of the picture where there is none. */
function atEdges(boxes: Boxes, stream: Track, visible: TimeRange): TimeRange[] {
  const row = boxes.rows.get(rowKey(stream.id, 0));
  const { first, end } = row ? inSight(boxes, row, visible) : { first: 0, end: 0 };
  if (first === end) return [visible];
  const last = boxes.to.slice(first, end).reduce((latest, to) => Math.max(latest, to));
  return [
    { from: visible.from, to: boxes.from[first]! },
    { from: last, to: visible.to },
  ];
}
