/** Names of tracks on the left: a triangle folds a track of several rows, a pin keeps it in sight. */

import { haloed, type Pen } from "../../../charts/canvas/canvas";
import { textWidth } from "../../../dom/text_width";
import { shortened } from "../../../format";
import { isFolded, type Placed } from "../layout";
import { AXIS_PX, GUTTER_PX, PIN_PX, type Scene, topOf } from "../scene";
import { fitted } from "./signs";

const INDENT_PX = 10;

/** From the top of a row to the middle of its text. */
const MIDDLE_PX = 8;

/** A track's name stays visible while any of its rows is. */
export function paintHead(pen: Pen, scene: Scene, place: Placed): void {
  const { palette, width } = scene;
  const top = topOf(scene, place);
  if (place.kind === "heading") return paintHeading(pen, scene, place.text, top);
  const y = nameY(scene, place);
  pen.font = palette.fonts.small;
  if (place.kind === "track") return paintName(pen, scene, place, y);
  haloed(pen, "Launched, not started", INDENT_PX, y, palette.second, palette.surface);
  pen.font = palette.fonts.axis;
  haloed(pen, "line: peak", INDENT_PX, y + 15, palette.third, palette.surface);
  pen.fillStyle = palette.firm;
  pen.fillRect(GUTTER_PX, top + place.height - 1, width - GUTTER_PX, 1);
}

function nameY(scene: Scene, place: Placed): number {
  const top = topOf(scene, place);
  const edge = place.top < scene.layout.fixed_px ? AXIS_PX : AXIS_PX + scene.layout.fixed_px;
  return Math.min(Math.max(edge, Math.min(top, scene.height)) + MIDDLE_PX, top + place.height - INDENT_PX);
}

function paintName(pen: Pen, { palette }: Scene, place: Placed & { kind: "track" }, y: number): void {
  pen.fillStyle = palette.second;
  if (place.rows > 1) paintTriangle(pen, 4, y, isFolded(place));
  const room = GUTTER_PX - INDENT_PX - (place.pinned ? PIN_PX : 0);
  pen.fillText(fitted(place.name, (text) => textWidth(text), room) ?? "", INDENT_PX, y);
  if (place.pinned) paintPin(pen, y, true);
}

/** Draws a frame around the name that the pointer or the keys are on, and its pin. */
export function paintFocusedHead(pen: Pen, scene: Scene): void {
  const place = scene.head === null ? undefined : scene.layout.tracks.get(scene.head);
  if (!place) return;
  const y = nameY(scene, place);
  const { palette } = scene;
  if (!place.pinned) {
    pen.fillStyle = palette.surface;
    pen.fillRect(GUTTER_PX - PIN_PX, y - MIDDLE_PX, PIN_PX, 2 * MIDDLE_PX);
    pen.fillStyle = palette.second;
    pen.strokeStyle = palette.second;
    paintPin(pen, y, false);
  }
  if (scene.pointer_ns !== null) return;
  pen.strokeStyle = palette.ink;
  pen.lineWidth = 1;
  pen.strokeRect(0.5, Math.round(y - MIDDLE_PX) - 0.5, GUTTER_PX - 3, 2 * MIDDLE_PX + 1);
}

/** The triangle points down while the track is unfolded, right while it is folded. */
function paintTriangle(pen: Pen, x: number, y: number, folded: boolean): void {
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

/** A pushpin: filled while the track is pinned. */
function paintPin(pen: Pen, y: number, filled: boolean): void {
  const x = GUTTER_PX - PIN_PX / 2 - 1;
  pen.fillRect(x - 0.5, y + 1, 1, 5);
  pen.fillRect(x - 4, y, 8, 1);
  if (filled) pen.fillRect(x - 2, y - 5, 4, 5);
  else {
    pen.lineWidth = 1;
    pen.strokeStyle = pen.fillStyle;
    pen.strokeRect(x - 2.5, y - 5.5, 5, 5);
  }
}

function paintHeading(pen: Pen, { palette, width, layout }: Scene, text: string, top: number): void {
  pen.fillStyle = palette.line;
  if (top !== AXIS_PX + layout.fixed_px) pen.fillRect(0, top + 2, width, 1); // a line is already there
  pen.font = palette.fonts.title;
  pen.fillStyle = palette.ink;
  pen.fillText(shortened(text, 60), 0, top + 13);
}
