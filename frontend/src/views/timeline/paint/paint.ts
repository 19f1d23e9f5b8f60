/**
 * Paints the picture in two sheets: tracks, names and the axis; over them what the pointer and the chosen event add, so
 * that a moving pointer costs next to nothing.
 */

import type { Pen } from "../../../charts/canvas/canvas";
import { haloed } from "../../../charts/canvas/marks";
import { textWidth } from "../../../dom/text_width";
import { shortened } from "../../../format";
import { type Placed, ROW_PX } from "../layout";
import { AXIS_PX, GUTTER_PX, type Scene, topOf } from "../scene";
import { paintAxis, paintBand, paintPointer } from "./axis";
import { paintBorders } from "./borders";
import { fitted } from "./box_names";
import { paintBoxes } from "./boxes";
import { paintGap, paintLaunches, paintRings } from "./marks";
import { paintQueue } from "./queue";
import { paintRange } from "./range";

export function paintScene(pen: Pen, scene: Scene): void {
  const { width, height, palette } = scene;
  pen.fillStyle = palette.surface;
  pen.fillRect(0, 0, width, height);
  pen.textBaseline = "middle";
  const visible = scene.layout.places.filter(
    (place) => place.top + place.height > scene.scroll && place.top < scene.scroll + height - AXIS_PX,
  );
  clipped(pen, GUTTER_PX, AXIS_PX, width, height, () => paintTracks(pen, scene, visible));
  clipped(pen, 0, AXIS_PX, width, height, () => {
    for (const place of visible) paintName(pen, scene, place);
  });
  paintAxis(pen, scene);
}

/** What the first sheet is made of. */
export const groundOf = ({
  visible,
  layout,
  layers,
  palette,
  step,
  matches,
  scroll,
  width,
  height,
}: Scene): readonly unknown[] => [visible, layout, layers, palette, step, matches, scroll, width, height];

export function paintOver(pen: Pen, scene: Scene): void {
  const { width, height } = scene;
  pen.clearRect(0, 0, width, height);
  pen.textBaseline = "middle";
  clipped(pen, GUTTER_PX, AXIS_PX, width, height, () => {
    paintGap(pen, scene);
    paintRings(pen, scene);
    paintLaunches(pen, scene);
  });
  paintRange(pen, scene);
  paintPointer(pen, scene);
  paintBand(pen, scene);
}

/** What the second one is made of besides. */
export const overOf = ({ pointed, pointer_ns, chosen, range, band }: Scene): readonly unknown[] => [
  pointed,
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

const INDENT_PX = 10;

/** A track's name stays visible while any of its rows is. */
function paintName(pen: Pen, scene: Scene, place: Placed): void {
  const { palette, width, height } = scene;
  const top = topOf(scene, place);
  if (place.kind === "heading") return paintHeading(pen, scene, place.text, top);
  const middle = Math.max(AXIS_PX, Math.min(top, height)) + 8;
  const y = Math.min(middle, top + place.height - 10);
  pen.font = palette.fonts.small;
  if (place.kind === "track") return paintTrackName(pen, scene, place, y);
  haloed(pen, "Launched, not started", INDENT_PX, y, palette.second, palette.surface);
  pen.font = palette.fonts.axis;
  haloed(pen, "line: peak", INDENT_PX, y + 15, palette.third, palette.surface);
  pen.fillStyle = palette.firm;
  pen.fillRect(GUTTER_PX, top + place.height - 1, width - GUTTER_PX, 1);
}

function paintTrackName(pen: Pen, { palette }: Scene, place: Placed & { kind: "track" }, y: number): void {
  pen.fillStyle = palette.second;
  if (place.track.rows > 1) paintFold(pen, 4, y, place.row_px < ROW_PX);
  pen.fillText(fitted(place.name, (text) => textWidth(text, "small"), GUTTER_PX - INDENT_PX) ?? "", INDENT_PX, y);
}

/** Points down while names can be read, right while the track is folded. */
function paintFold(pen: Pen, x: number, y: number, folded: boolean): void {
  pen.beginPath();
  const corners = folded
    ? ([
        [-2, -4],
        [2, 0],
        [-2, 4],
      ] as const)
    : ([
        [-4, -2],
        [4, -2],
        [0, 2.5],
      ] as const);
  for (const [dx, dy] of corners) pen.lineTo(x + dx, y + dy);
  pen.fill();
}

function paintHeading(pen: Pen, { palette, width }: Scene, text: string, top: number): void {
  pen.fillStyle = palette.line;
  pen.fillRect(0, top + 2, width, 1);
  pen.font = palette.fonts.title;
  pen.fillStyle = palette.ink;
  pen.fillText(shortened(text, 60), 0, top + 13);
}
