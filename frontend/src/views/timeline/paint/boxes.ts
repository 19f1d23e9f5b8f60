/**
 * The boxes of a track. Each row is searched for its visible part, which is then walked pixel by pixel: boxes that
 * share a pixel are drawn once, so the cost of a frame depends on what is on the screen and not on the size of the
 * page.
 */

import { cached } from "../../../cached";
import { comb, drawStrip, type Pen, setPixels, stripFor } from "../../../charts/canvas/canvas";
import type { Fill, Palette } from "../../../charts/canvas/palette";
import { textWidth } from "../../../dom/text_width";
import { counted } from "../../../format";
import { type Boxes, firstAbove, inSight, rowKey } from "../data/boxes";
import type { Layer } from "../data/pages";
import { boxHeight, type Placed } from "../layout";
import { BOX_PX, GUTTER_PX, type Scene, topOf } from "../scene";
import { fitted, isTextured, paintSign } from "./signs";

/** Boxes wider than this may hold a name. */
const NAMED_PX = 26;

/** Merged boxes wider than this are drawn as combs, so that they are recognisable as several events. */
const COMBED_PX = 5;

/** Neighbours wider than this are separated by the background. */
const PARTED_PX = 3;

/** A box of this many device pixels or fewer is drawn as pixels in the strip of its row. */
const NARROW = 2;

export function paintBoxes(pen: Pen, scene: Scene, place: Placed & { kind: "track" }): void {
  const top = topOf(scene, place);
  const density = pen.getTransform().a;
  const strip = stripFor(Math.round((scene.width - GUTTER_PX) * density));
  pen.font = scene.palette.fonts.axis;
  for (let row = 0; row < place.rows; row++) {
    const y = top + row * place.row_px;
    if (y + place.row_px < 0 || y > scene.height) continue;
    const tall = boxHeight(place.row_px);
    for (const layer of scene.layers) {
      walkRow(scene, layer, rowKey(place.track.id, row), density, {
        narrow: (from, to, pixel) => setPixels(strip, from, to, pixel),
        wide: (at, fill, drawn) => paintBox(pen, scene, layer.boxes, at, fill, { ...drawn, y, tall }),
      });
    }
    drawStrip(pen, strip, GUTTER_PX, y, tall, density);
  }
}

interface Brush {
  /** Positions in device pixels, from the right edge of the names on. */
  narrow(from: number, to: number, pixel: number): void;
  wide(at: number, fill: Fill, drawn: { left: number; right: number; faded: boolean }): void;
}

/** Edges are on whole device pixels: they are sharp and drawn faster. */
export function walkRow(
  scene: Pick<Scene, "time" | "width" | "matches" | "palette" | "off">,
  layer: Layer,
  key: number,
  density: number,
  brush: Brush,
): void {
  const { boxes } = layer;
  const row = boxes.rows.get(key);
  if (!row) return;
  const { time, palette } = scene;
  const pixelAt = (ns: number) => Math.round((time.x(ns) - GUTTER_PX) * density);
  const edge = {
    left: Math.max(0, pixelAt(layer.from)),
    right: Math.min(Math.round((scene.width - GUTTER_PX) * density), pixelAt(layer.to)),
  };
  const matches = scene.matches?.(boxes) ?? null;
  const { first, end } = inSight(boxes, row, layer);
  const fills = boxes.colours.map((colour) => palette.fills.get(colour)!);
  const dimmed = boxes.colours.map((colour) => scene.off.has(colour));
  let at = first;
  while (at < end) {
    const left = Math.max(edge.left, pixelAt(boxes.from[at]!));
    const right = Math.min(edge.right, pixelAt(boxes.to[at]!));
    const fill = fills[boxes.colour[at]!]![boxes.shades[boxes.name[at]!]!]!;
    const faded = dimmed[boxes.colour[at]!]! || (matches !== null && !matches[boxes.name[at]!]);
    if (right - left <= NARROW) brush.narrow(left, Math.max(left + 1, right), faded ? fill.dimPixel : fill.plainPixel);
    else brush.wide(at, fill, { left: GUTTER_PX + left / density, right: GUTTER_PX + right / density, faded });
    at = right - left >= 1 ? at + 1 : afterPixel(boxes, at, end, time.ns(GUTTER_PX + (left + 0.5) / density), matches);
  }
}

/** The next box that extends beyond the pixel, or is highlighted: a neighbour must not hide what a search found. */
function afterPixel(boxes: Boxes, at: number, end: number, pixelEnd_ns: number, matches: Uint8Array | null): number {
  const next = firstAbove(boxes.to, pixelEnd_ns, at + 1, end);
  if (!matches || matches[boxes.name[at]!]) return next;
  for (let between = at + 1; between < next; between++) if (matches[boxes.name[between]!]) return between;
  return next;
}

interface Drawn {
  left: number;
  right: number;
  y: number;
  tall: number;
  faded: boolean;
}

function paintBox(
  pen: Pen,
  scene: Scene,
  boxes: Boxes,
  at: number,
  fill: Fill,
  { left, right, y, tall, faded }: Drawn,
): void {
  const shown = right - left;
  const wide = shown > PARTED_PX ? shown - 1 : shown;
  const many = boxes.count[at]! > 1 && wide >= COMBED_PX;
  pen.fillStyle = many ? combOf(pen, scene.palette, fill, faded) : faded ? fill.dim : fill.plain;
  pen.fillRect(left, y, wide, tall);
  if (!faded && !many) paintSign(pen, scene.palette, boxes.colours[boxes.colour[at]!]!, { left, y, wide, tall });
  if (wide >= NAMED_PX && tall === BOX_PX && !faded) paintText(pen, boxes, at, fill, left, wide, y);
}

function paintText(pen: Pen, boxes: Boxes, at: number, fill: Fill, left: number, wide: number, y: number): void {
  const many = boxes.count[at]! > 1;
  // a single name for many events would read as one long event
  const name = many ? counted(boxes.count[at]!, "event") : (boxes.names[boxes.name[at]!] ?? "");
  const measure = (text: string) => textWidth(text);
  const text = many && measure(name) + 8 > wide ? null : fitted(name, measure, wide);
  if (text === null) return;
  if (many || isTextured(boxes.colours[boxes.colour[at]!]!)) {
    pen.fillStyle = fill.plain; // text is not drawn on stripes
    pen.fillRect(left, y, measure(text) + 8, BOX_PX);
  }
  pen.fillStyle = fill.ink;
  pen.fillText(text, left + 4, y + BOX_PX / 2 + 0.5);
}

/** Created once per theme. */
const combs = new WeakMap<Palette, Map<string, CanvasPattern | string>>();

function combOf(pen: Pen, palette: Palette, fill: Fill, faded: boolean): CanvasPattern | string {
  const patterns = cached(combs, palette, () => new Map<string, CanvasPattern | string>());
  const colour = faded ? fill.dim : fill.plain;
  return cached(patterns, colour, () => comb(pen, colour, palette.sunken));
}
