/**
 * Paints the picture in two sheets: tracks, names and the axis; over them what the pointer and the chosen event add, so
 * that a moving pointer costs next to nothing.
 */

import type { Pen } from "../../../charts/canvas/canvas";
import type { Placed } from "../layout";
import { AXIS_PX, GUTTER_PX, type Scene, topOf } from "../scene";
import { paintAxis, paintBand, paintPointer } from "./axis";
import { paintBorders } from "./borders";
import { paintBoxes } from "./boxes";
import { paintFocusedHead, paintHead } from "./heads";
import { paintGap, paintLaunches, paintRings } from "./marks";
import { paintQueue } from "./queue";
import { paintRange } from "./range";

export function paintScene(pen: Pen, scene: Scene): void {
  const { width, height, palette, layout } = scene;
  pen.fillStyle = palette.surface;
  pen.fillRect(0, 0, width, height);
  pen.textBaseline = "middle";
  const fold = AXIS_PX + layout.fixed_px;
  paintRegion(pen, scene, AXIS_PX, fold);
  paintRegion(pen, scene, fold, height);
  if (layout.fixed_px > 0) {
    pen.fillStyle = palette.firm;
    pen.fillRect(0, fold - 2, width, 1);
  }
  paintAxis(pen, scene);
}

/** The places between two heights of the canvas: pinned tracks, or those that scroll under them. */
function paintRegion(pen: Pen, scene: Scene, top: number, bottom: number): void {
  const places = scene.layout.places.filter((place) => {
    const y = topOf(scene, place);
    return (
      y + place.height > top &&
      y < bottom &&
      place.top < scene.layout.fixed_px === top < AXIS_PX + scene.layout.fixed_px
    );
  });
  clipped(pen, GUTTER_PX, top, scene.width, bottom, () => paintTracks(pen, scene, places));
  clipped(pen, 0, top, scene.width, bottom, () => {
    for (const place of places) paintHead(pen, scene, place);
  });
}

/** What the first sheet is made of. */
export const groundOf = ({
  visible,
  layout,
  layers,
  palette,
  step,
  matches,
  off,
  scroll,
  width,
  height,
}: Scene): readonly unknown[] => [visible, layout, layers, palette, step, matches, off, scroll, width, height];

export function paintOver(pen: Pen, scene: Scene): void {
  const { width, height } = scene;
  pen.clearRect(0, 0, width, height);
  pen.textBaseline = "middle";
  clipped(pen, GUTTER_PX, AXIS_PX, width, height, () => {
    paintGap(pen, scene);
    paintRings(pen, scene);
    paintLaunches(pen, scene);
  });
  paintFocusedHead(pen, scene);
  paintRange(pen, scene);
  paintPointer(pen, scene);
  paintBand(pen, scene);
}

/** What the second one is made of besides. */
export const overOf = ({ pointed, head, pointer_ns, chosen, range, band }: Scene): readonly unknown[] => [
  pointed,
  head,
  pointer_ns,
  chosen,
  range,
  band,
];

function paintTracks(pen: Pen, scene: Scene, visible: readonly Placed[]): void {
  const { palette, width } = scene;
  pen.fillStyle = palette.sunken;
  for (const place of visible) {
    if (place.kind !== "heading")
      pen.fillRect(GUTTER_PX, topOf(scene, place), width - GUTTER_PX, place.height - (place.kind === "track" ? 2 : 0));
  }
  paintBorders(pen, scene);
  for (const place of visible) {
    if (place.kind === "track") paintBoxes(pen, scene, place);
    else if (place.kind === "queue") paintQueue(pen, scene, topOf(scene, place), place.height);
  }
}

function clipped(pen: Pen, left: number, top: number, right: number, bottom: number, paint: () => void): void {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, right - left, bottom - top);
  pen.clip();
  paint();
  pen.restore();
}
