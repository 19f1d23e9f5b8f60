/**
 * The boxes of a track. Each row is searched for what is in sight and then walked pixel by pixel: boxes that share a
 * pixel are drawn once, so a frame costs what is on the screen and not what is in the page.
 */

import { comb } from "../../charts/canvas_marks";
import type { Pen } from "../../charts/canvas_sheet";
import { counted } from "../../format";
import { type Boxes, firstAbove, inSight, rowKey } from "./boxes";
import { fitted, nameWidth } from "./fit";
import { type Placed, ROW_PX } from "./layout";
import type { Layer } from "./pages";
import type { Fill, Palette } from "./palette";
import { BOX_PX, GUTTER_PX, type Scene, topOf } from "./scene";

/** Boxes wider than this may hold a name. */
const NAMED_PX = 26;

/** Merged boxes wider than this show that they are several. */
const COMBED_PX = 5;

/** Neighbours wider than this are parted by the background. */
const PARTED_PX = 3;

export function paintBoxes(pen: Pen, scene: Scene, place: Placed & { kind: "track" }): void {
  const top = topOf(scene, place);
  const density = pen.getTransform().a;
  const snap = (x: number) => Math.round(x * density) / density; // whole device pixels are sharp, and drawn faster
  pen.font = scene.palette.fonts.axis;
  for (let row = 0; row < place.rows; row++) {
    const y = top + row * ROW_PX;
    if (y + ROW_PX < 0 || y > scene.height) continue;
    for (const layer of scene.layers) paintRow(pen, scene, layer, rowKey(place.track.id, row), y, snap);
  }
}

function paintRow(pen: Pen, scene: Scene, layer: Layer, key: number, y: number, snap: (x: number) => number): void {
  const { boxes } = layer;
  const row = boxes.rows.get(key);
  if (!row) return;
  const { ruler } = scene;
  const edge = { left: Math.max(GUTTER_PX, ruler.x(layer.from)), right: Math.min(scene.width, ruler.x(layer.to)) };
  const lit = scene.lit?.(boxes) ?? null;
  const { first, end } = inSight(boxes, row, layer);
  let at = first;
  while (at < end) {
    const left = snap(Math.max(edge.left, ruler.x(boxes.from[at]!)));
    const right = snap(Math.min(edge.right, ruler.x(boxes.to[at]!)));
    paintBox(pen, scene, boxes, at, { left, right, y, faded: lit !== null && !lit[boxes.name[at]!] });
    at = right - left >= 1 ? at + 1 : afterPixel(boxes, at, end, ruler.ns(left + 1), lit);
  }
}

/** The next box that reaches out of the pixel, or is lit: what a search found is not hidden by a neighbour. */
function afterPixel(boxes: Boxes, at: number, end: number, pixelEnd_ns: number, lit: Uint8Array | null): number {
  const next = firstAbove(boxes.to, pixelEnd_ns, at + 1, end);
  if (!lit || lit[boxes.name[at]!]) return next;
  for (let between = at + 1; between < next; between++) if (lit[boxes.name[between]!]) return between;
  return next;
}

interface Drawn {
  left: number;
  right: number;
  y: number;
  faded: boolean;
}

function paintBox(pen: Pen, scene: Scene, boxes: Boxes, at: number, { left, right, y, faded }: Drawn): void {
  const shown = right - left;
  const wide = shown > PARTED_PX ? shown - 1 : Math.max(1, shown);
  const fill = scene.palette.fills.get(boxes.colours[boxes.colour[at]!] ?? "other")![boxes.shades[boxes.name[at]!] ?? 0]!;
  const many = boxes.count[at]! > 1 && wide >= COMBED_PX;
  pen.fillStyle = many ? combOf(pen, scene.palette, fill, faded) : faded ? fill.dim : fill.plain;
  pen.fillRect(left, y, wide, BOX_PX);
  if (wide >= NAMED_PX && !faded) paintText(pen, scene, boxes, at, fill, left, wide, y);
}

function paintText(pen: Pen, scene: Scene, boxes: Boxes, at: number, fill: Fill, left: number, wide: number, y: number): void {
  const many = boxes.count[at]! > 1;
  const name = many ? counted(boxes.count[at]!, "event") : (boxes.names[boxes.name[at]!] ?? ""); // one name for many would read as one long event
  const measure = nameWidth(pen, scene.palette.fonts.axis);
  const text = many && measure(name) + 8 > wide ? null : fitted(name, measure, wide);
  if (text === null) return;
  if (many) {
    pen.fillStyle = fill.plain; // words do not stand on stripes
    pen.fillRect(left, y, measure(text) + 8, BOX_PX);
  }
  pen.fillStyle = fill.ink;
  pen.fillText(text, left + 4, y + BOX_PX / 2 + 0.5);
}

/** Made once for a theme. */
const combs = new WeakMap<Palette, Map<string, CanvasPattern | string>>();

function combOf(pen: Pen, palette: Palette, fill: Fill, faded: boolean): CanvasPattern | string {
  const known = combs.get(palette) ?? new Map<string, CanvasPattern | string>();
  combs.set(palette, known);
  const colour = faded ? fill.dim : fill.plain;
  const found = known.get(colour) ?? comb(pen, colour, palette.sunken);
  known.set(colour, found);
  return found;
}
