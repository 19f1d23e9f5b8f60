/**
 * What the chosen and the hovered event add to the picture: rings, the launch arrow, the idle time before the event.
 */

import type { EventDetail, EventLink } from "../../../api.gen";
import { arrow, type Pen, plated, stripes } from "../../../charts/canvas/canvas";
import { textWidth } from "../../../dom/text_width";
import { ns } from "../../../format";
import { sentence } from "../../../phrase";
import { boxHeight, rowTop } from "../layout";
import { AXIS_PX, BOX_PX, GUTTER_PX, type Scene, topOf } from "../scene";
import { fitted } from "./signs";

/** A narrower event gets a ring of this width, so that it is still visible. */
const LEAST_PX = 5;

/** More arrows than this from one call would be a tangle; the panel lists all of them. */
const MOST_ARROWS = 8;

interface Spot {
  track: number;
  row: number;
  from: number;
  to: number;
}

const spotOf = ({ track, row, start_ns, end_ns }: EventDetail | EventLink): Spot => ({
  track,
  row,
  from: start_ns,
  to: end_ns,
});

/** Null where there is no such row, or it is hidden under pinned tracks. */
function placeOf(scene: Scene, { track, row }: Spot): { top: number; tall: number } | null {
  const row_top = rowTop(scene.layout, track, row);
  if (row_top === null) return null;
  const { fixed_px } = scene.layout;
  const [top, tall] = [topOf(scene, { top: row_top }), boxHeight(scene.layout.tracks.get(track)!.row_px)];
  return row_top >= fixed_px && top < AXIS_PX + fixed_px ? null : { top, tall };
}

export function paintRings(pen: Pen, scene: Scene): void {
  if (scene.pointed) paintRing(pen, scene, scene.pointed, 1);
  if (scene.chosen) paintRing(pen, scene, spotOf(scene.chosen), 2);
}

function paintRing(pen: Pen, scene: Scene, spot: Spot, thick: number): void {
  const place = placeOf(scene, spot);
  if (place === null) return;
  const { time, width, palette } = scene;
  const [from, to] = [Math.max(GUTTER_PX - 4, time.x(spot.from)), Math.min(width + 4, time.x(spot.to))];
  if (to < GUTTER_PX || from > width) return;
  const wider = Math.max(0, LEAST_PX - (to - from)) / 2;
  pen.strokeStyle = palette.surface;
  pen.lineWidth = thick + 2;
  pen.strokeRect(from - wider, place.top, to - from + 2 * wider, place.tall);
  pen.strokeStyle = palette.ink;
  pen.lineWidth = thick;
  pen.strokeRect(from - wider, place.top, to - from + 2 * wider, place.tall);
}

/**
 * Draws an arrow from the start of the launch call to the start of the work that it put on the device. It follows the
 * edge of the call's row, so that it strikes neither the name of the call nor the length of the wait.
 */
export function paintLaunches(pen: Pen, scene: Scene): void {
  const { chosen, palette, time } = scene;
  if (!chosen) return;
  const own = spotOf(chosen);
  for (const link of launches(scene, chosen).slice(0, MOST_ARROWS)) {
    const other = spotOf(link);
    const [call, work] = onDevice(scene, own) ? [other, own] : [own, other];
    const [above, below] = [placeOf(scene, call), placeOf(scene, work)];
    if (above === null || below === null) continue;
    arrow(
      pen,
      [time.x(call.from), above.top < below.top ? above.top + above.tall : above.top],
      [time.x(work.from), below.top + below.tall / 2],
      palette.ink,
      palette.surface,
    );
  }
}

const onDevice = (scene: Scene, { track }: Spot): boolean => scene.layout.tracks.get(track)?.track.kind === "stream";
const isCall = (scene: Scene, { track }: Spot): boolean => scene.layout.tracks.get(track)?.track.kind === "calls";

/** Links between a runtime call and the device. */
function launches(scene: Scene, chosen: EventDetail): EventLink[] {
  const own = spotOf(chosen);
  return chosen.links.filter((link) =>
    onDevice(scene, own) ? isCall(scene, spotOf(link)) : isCall(scene, own) && onDevice(scene, spotOf(link)),
  );
}

interface Gap {
  left: number;
  right: number;
  top: number;
  tall: number;
  ns: number;
}

/** The device's idle time before the chosen event; null where there is none in sight. */
function gapOf(scene: Scene): Gap | null {
  const { chosen, time, width } = scene;
  if (!chosen || chosen.gap_start_ns === null) return null;
  const place = placeOf(scene, spotOf(chosen));
  const [left, right] = [Math.max(GUTTER_PX, time.x(chosen.gap_start_ns)), Math.min(width, time.x(chosen.start_ns))];
  return place && right - left >= 1 ? { left, right, ...place, ns: chosen.start_ns - chosen.gap_start_ns } : null;
}

export function paintGap(pen: Pen, scene: Scene): void {
  const gap = gapOf(scene);
  if (gap === null) return;
  pen.fillStyle = stripes(pen, scene.palette.third);
  pen.fillRect(gap.left, gap.top, gap.right - gap.left, gap.tall);
}

/** The length of the idle time and its reason, where there is room, over the lines of the measured range. */
export function paintGapText(pen: Pen, scene: Scene): void {
  const { chosen, palette } = scene;
  const gap = gapOf(scene);
  if (gap === null || gap.tall < BOX_PX) return;
  pen.font = palette.fonts.axis;
  const short = `Idle for ${ns(gap.ns)}`;
  const text = chosen?.why_gap ? sentence(chosen.why_gap) : short;
  const wide = (text: string) => textWidth(text);
  const written = wide(text) + 8 <= gap.right - gap.left ? text : fitted(short, wide, gap.right - gap.left);
  if (written !== null) plated(pen, written, gap.left + 4, gap.top + BOX_PX / 2, palette.ink, palette.surface);
}
