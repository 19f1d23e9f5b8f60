/** What the chosen event and the pointed one add to the picture: rings, the launch arrow, the idle time before it. */

import type { EventDetail, EventLink } from "../../api.gen";
import { arrow, haloed, stripes } from "../../charts/canvas_marks";
import type { Pen } from "../../charts/canvas_sheet";
import { ns, sentence } from "../../format";
import { fitted, nameWidth } from "./fit";
import { rowTop } from "./layout";
import { AXIS_PX, BOX_PX, GUTTER_PX, type Scene } from "./scene";

/** A ring around what is narrower is still seen. */
const LEAST_PX = 5;

/** More arrows than this from one call are a tangle; the panel lists them. */
const MOST_ARROWS = 8;

interface Spot {
  track: number;
  row: number;
  from: number;
  to: number;
}

const spotOf = ({ track, row, start_ns, end_ns }: EventDetail | EventLink): Spot => ({ track, row, from: start_ns, to: end_ns });

/** A box that is not in any row in sight has no place; a folded track's first row stands for it. */
function topOfSpot(scene: Scene, { track, row }: Spot): number | null {
  const top = rowTop(scene.layout, track, row) ?? rowTop(scene.layout, track, 0);
  return top === null ? null : AXIS_PX + top - Math.round(scene.scroll);
}

export function paintRings(pen: Pen, scene: Scene): void {
  if (scene.pointed) paintRing(pen, scene, scene.pointed, 1);
  if (scene.chosen) paintRing(pen, scene, spotOf(scene.chosen), 2);
}

function paintRing(pen: Pen, scene: Scene, spot: Spot, thick: number): void {
  const top = topOfSpot(scene, spot);
  if (top === null) return;
  const { ruler, width, palette } = scene;
  const [from, to] = [Math.max(GUTTER_PX - 4, ruler.x(spot.from)), Math.min(width + 4, ruler.x(spot.to))];
  if (to < GUTTER_PX || from > width) return;
  const wider = Math.max(0, LEAST_PX - (to - from)) / 2;
  pen.strokeStyle = palette.surface;
  pen.lineWidth = thick + 2;
  pen.strokeRect(from - wider, top, to - from + 2 * wider, BOX_PX);
  pen.strokeStyle = palette.ink;
  pen.lineWidth = thick;
  pen.strokeRect(from - wider, top, to - from + 2 * wider, BOX_PX);
}

/** From the launch call's start to the start of the work that it put on the device. */
export function paintLaunches(pen: Pen, scene: Scene): void {
  const { chosen, palette, ruler } = scene;
  if (!chosen) return;
  const own = spotOf(chosen);
  for (const link of launches(scene, chosen).slice(0, MOST_ARROWS)) {
    const other = spotOf(link);
    const [call, work] = onDevice(scene, own) ? [other, own] : [own, other];
    const [callTop, workTop] = [topOfSpot(scene, call), topOfSpot(scene, work)];
    if (callTop === null || workTop === null) continue;
    const middle = BOX_PX / 2;
    arrow(pen, [ruler.x(call.from), callTop + middle], [ruler.x(work.from), workTop + middle], palette.ink, palette.surface);
  }
}

const onDevice = (scene: Scene, { track }: Spot): boolean => scene.layout.tracks.get(track)?.track.kind === "stream";
const isCall = (scene: Scene, { track }: Spot): boolean => scene.layout.tracks.get(track)?.track.kind === "calls";

/** Links between a runtime call and the device. */
function launches(scene: Scene, chosen: EventDetail): EventLink[] {
  const own = spotOf(chosen);
  return chosen.links.filter((link) => (onDevice(scene, own) ? isCall(scene, spotOf(link)) : isCall(scene, own) && onDevice(scene, spotOf(link))));
}

/** The device's idle time before the chosen event, hatched, with its length and why where there is room. */
export function paintGap(pen: Pen, scene: Scene): void {
  const { chosen, palette, ruler, width } = scene;
  if (!chosen || chosen.gap_start_ns === null) return;
  const top = topOfSpot(scene, spotOf(chosen));
  if (top === null) return;
  const [left, right] = [Math.max(GUTTER_PX, ruler.x(chosen.gap_start_ns)), Math.min(width, ruler.x(chosen.start_ns))];
  if (right - left < 1) return;
  pen.fillStyle = stripes(pen, palette.third);
  pen.fillRect(left, top, right - left, BOX_PX);
  pen.font = palette.fonts.axis;
  const length = ns(chosen.start_ns - chosen.gap_start_ns);
  const text = chosen.why_gap ? sentence(chosen.why_gap) : `Idle for ${length}`;
  const wide = nameWidth(pen, palette.fonts.axis);
  const written = wide(text) + 8 <= right - left ? text : fitted(`Idle for ${length}`, wide, right - left);
  if (written !== null) haloed(pen, written, left + 4, top + BOX_PX / 2, palette.ink, palette.surface);
}
