/**
 * What boxes have besides their colour. Names: as much as fits, and nothing where only a few letters would fit. Signs,
 * in grey and for readers who see few hues: a texture over data loading, communication, blocking calls and what does
 * not repeat, a dotted edge around copies and under Python frames. Kernels, ops and calls, which are most of a picture,
 * are plain; their tracks say which they are.
 */

import { cached } from "../../../cached";
import type { Pen } from "../../../charts/canvas/canvas";
import type { Palette } from "../../../charts/canvas/palette";
import { TEXTURES as ALL, type Colour, TEXTURE_OPACITY, type Texture } from "../../../colour";
import { shortened } from "../../../format";

/** In the timeline, where most boxes contain a name, host work has no texture. */
const TEXTURES: Readonly<Partial<Record<Colour, Texture>>> = {
  data: ALL.data!,
  comm: ALL.comm!,
  blocking: ALL.blocking!,
  excess: ALL.excess!,
};

/** Sides of a box that have a dotted edge. */
const DOTTED: Readonly<Partial<Record<Colour, readonly ("top" | "bottom")[]>>> = {
  copy: ["top", "bottom"],
  other: ["bottom"],
};

/** Boxes narrower or lower than this have no room for a sign. */
const LEAST_PX = 6;

interface Placed {
  left: number;
  y: number;
  wide: number;
  tall: number;
}

export const isTextured = (colour: Colour): boolean => TEXTURES[colour] !== undefined;

export function paintSign(pen: Pen, palette: Palette, colour: Colour, { left, y, wide, tall }: Placed): void {
  if (wide < LEAST_PX || tall < LEAST_PX) return;
  const texture = TEXTURES[colour];
  if (texture) {
    pen.fillStyle = pattern(pen, palette, colour, () => textureTile(texture, palette.surface, densityOf(pen)));
    pen.fillRect(left, y, wide, tall);
  }
  for (const side of DOTTED[colour] ?? []) {
    pen.fillStyle = pattern(pen, palette, "dots", () => dotsTile(palette.ink, densityOf(pen)));
    pen.fillRect(left, side === "top" ? y : y + tall - 1, wide, 1);
  }
}

const densityOf = (pen: Pen): number => pen.getTransform().a;

/** As sharp as the screen: a pattern is drawn at the canvas's own scale. */
function textureTile({ size, path }: Texture, colour: string, density: number): OffscreenCanvas {
  const side = Math.round(size * density);
  const tile = new OffscreenCanvas(side, side);
  const own = tile.getContext("2d")!;
  own.scale(side / size, side / size);
  own.globalAlpha = TEXTURE_OPACITY;
  own.strokeStyle = colour;
  own.stroke(new Path2D(path));
  return tile;
}

/** Dots of two pixels of ink, with gaps of two pixels. */
function dotsTile(colour: string, density: number): OffscreenCanvas {
  const tile = new OffscreenCanvas(Math.round(4 * density), 1);
  const own = tile.getContext("2d")!;
  own.fillStyle = colour;
  own.fillRect(0, 0, tile.width / 2, 1);
  return tile;
}

/** Created once per theme and screen. */
const patterns = new WeakMap<Palette, Map<string, CanvasPattern | string>>();

function pattern(pen: Pen, palette: Palette, name: string, draw: () => OffscreenCanvas): CanvasPattern | string {
  const byName = cached(patterns, palette, () => new Map<string, CanvasPattern | string>());
  const density = densityOf(pen);
  return cached(byName, `${name} ${density}`, () => {
    const made = pen.createPattern(draw(), "repeat");
    made?.setTransform(new DOMMatrix().scale(1 / density));
    return made ?? "transparent";
  });
}

const PADDING = 4;
const LEAST_LETTERS = 3;

/** Below this length the beginning of a name says more than its two ends. */
const ENDS_LETTERS = 20;

/** What to write in `room` px; null: there is no room for a word. `measure` returns the width of a text. */
export function fitted(name: string, measure: (text: string) => number, room: number): string | null {
  const free = room - 2 * PADDING;
  if (name === "" || free <= 0) return null;
  const ways = [name, ...briefer(name)];
  const whole = ways.find((direction) => measure(direction) <= free);
  if (whole !== undefined) return whole;
  const own = ways.at(-1)!;
  for (let letters = Math.ceil((free / measure(own)) * own.length); letters >= LEAST_LETTERS; letters--) {
    const text = letters < ENDS_LETTERS ? `${own.slice(0, letters - 1)}…` : shortened(own, letters);
    if (measure(text) <= free) return text;
  }
  return null;
}

/** The name without its leading scopes, then without its arguments, then without its template arguments. */
function briefer(name: string): string[] {
  const own = unscoped(name);
  const called = own.replace(/(?<=[\w>])\(.*\)$/, "");
  const head = called.replace(/(?<=\w{6})<.*>$/, "");
  return [own, called, head];
}

/** `void at::native::fill<int>(…)` becomes `fill<int>(…)`, `evaluate_function: Mul` becomes `Mul`. */
export function unscoped(name: string): string {
  const head = name.search(/[<([{]/);
  const scopes = head < 0 ? name : name.slice(0, head);
  const cut = Math.max(scopes.lastIndexOf("::"), scopes.lastIndexOf(": "));
  const type = /^void /.exec(name)?.[0].length ?? 0;
  return name.slice(cut >= 0 && cut + 2 < scopes.length ? cut + 2 : type);
}
