/**
 * Draws the flame graph, on a canvas and as marks of an SVG document. How frames of each label look is computed once
 * per tree and theme, not for each box.
 */

import { cached } from "../../../cached";
import { drawStrip, type Pen, type Strip, stripFor } from "../../../charts/canvas/canvas";
import { mixed, type Palette, pixelOf, shadeOf } from "../../../charts/canvas/palette";
import { lineName, shortName } from "../../../code_line";
import type { Colour } from "../../../colour";
import { escaped } from "../../../dom/marks";
import { textWidth } from "../../../dom/text_width";
import { counted } from "../../../format";
import { fitted, isTextured, paintSign } from "../../timeline/paint/signs";
import { BOX_PX, isAbove, LEAST_PX, ROW_PX, rowCount, type View, walk } from "./layout";
import type { Hits, Kind, Tree } from "./tree";

/** Null: drawn in the colour of paper, because it is not a frame of the program. */
export const COLOUR_OF: Readonly<Record<Kind, Colour | null>> = {
  all: null,
  python: "other",
  module: "other",
  op: "cpu",
  runtime: "runtime",
  kernel: "kernel",
  collective: "comm",
  copy: "copy",
  outside: null,
  smaller: null,
};

interface Paint {
  fill: string;
  ink: string;
  /** The fill in the format of a canvas's pixels. */
  pixel: number;
}

interface Look {
  colour: Colour | null;
  plain: Paint;
  /** Used next to frames that a search highlighted. */
  faded: Paint;
  /** Used for the callers of the zoomed frame, which in full colour would look like its sum. */
  above: Paint;
}

const looks = new WeakMap<Palette, WeakMap<readonly string[], readonly Look[]>>();

function looksOf({ names, kinds }: Pick<Tree, "names" | "kinds">, palette: Palette): readonly Look[] {
  const byNames = cached(looks, palette, () => new WeakMap<readonly string[], readonly Look[]>());
  return cached(byNames, names, () => names.map((name, label) => lookOf(name, kinds[label]!, palette)));
}

function lookOf(name: string, kind: Kind, palette: Palette): Look {
  const colour = COLOUR_OF[kind];
  if (colour === null) {
    const paper = paintOf(palette.sunken, palette.second);
    return { colour, plain: paper, faded: paintOf(palette.sunken, palette.third), above: paper };
  }
  const shade = colour === "other" ? 0 : shadeOf(name); // lines of code are below each other, not side by side
  const fill = palette.fills.get(colour)![shade]!;
  return {
    colour,
    plain: { fill: fill.plain, ink: fill.ink, pixel: fill.plainPixel },
    faded: { fill: fill.dim, ink: palette.third, pixel: fill.dimPixel },
    above: paintOf(mixed(fill.plain, palette.surface, 0.7), palette.ink),
  };
}

const paintOf = (fill: string, ink: string): Paint => ({ fill, ink, pixel: pixelOf(fill) });

export interface Scene extends View {
  hits: Hits | null;
  palette: Palette;
  /** The visible rows, px from the top of all rows. */
  top: number;
  height: number;
}

/** Frames wider than this may hold a name. */
const NAMED_PX = 26;

/**
 * Neighbours at least this wide are separated by the background. Narrower ones form a strip of pixels that is drawn at
 * once.
 */
const PARTED_PX = 3;

/** A frame wide enough to be drawn as a box. */
interface Box {
  at: number;
  left: number;
  wide: number;
  y: number;
  look: Look;
  paint: Paint;
  plain: boolean;
}

export function paint(pen: Pen, scene: Scene): void {
  const { width, height, palette } = scene;
  pen.fillStyle = palette.surface;
  pen.fillRect(0, 0, width, height);
  pen.font = palette.fonts.axis;
  pen.textBaseline = "middle";
  const density = pen.getTransform().a;
  const strip = stripFor(Math.ceil(width * density));
  const looks = looksOf(scene.tree, palette);
  for (const row of rowsIn(scene)) {
    const y = row * ROW_PX - scene.top;
    walk(
      scene,
      row,
      PARTED_PX,
      (at, left, right) => paintBox(pen, scene, boxOf(scene, looks, at, left, right, y)),
      (at, left, right) => setNarrow(strip, scene, looks, at, Math.floor(left * density), Math.ceil(right * density)),
    );
    drawStrip(pen, strip, 0, y, BOX_PX, density);
  }
}

/** Of frames that share a pixel one that matches the search is drawn, else the first, which is the largest. */
function setNarrow(strip: Strip, scene: Scene, looks: readonly Look[], at: number, from: number, to: number): void {
  const { pixels } = strip;
  const label = scene.tree.label[at]!;
  const found = scene.hits !== null && scene.hits.labels[label] === 1;
  let pixel = found || pixels[from] === 0 ? from : from + 1;
  if (pixel >= to) return;
  const colour = (scene.hits === null || found ? looks[label]!.plain : looks[label]!.faded).pixel;
  for (; pixel < to; pixel++) pixels[pixel] = colour;
  strip.used = true;
}

function* rowsIn({ layout, top, height }: Scene): Iterable<number> {
  const last = Math.min(rowCount(layout), Math.ceil((top + height) / ROW_PX));
  for (let row = Math.floor(top / ROW_PX); row < last; row++) yield row;
}

function boxOf(scene: Scene, looks: readonly Look[], at: number, left: number, right: number, y: number): Box {
  const label = scene.tree.label[at]!;
  const look = looks[label]!;
  const faded = scene.hits !== null && scene.hits.labels[label] !== 1;
  const above = isAbove(scene, at);
  const wide = right - left >= PARTED_PX ? right - left - 1 : right - left;
  return {
    at,
    left,
    wide,
    y,
    look,
    paint: faded ? look.faded : above ? look.above : look.plain,
    plain: !faded && !above,
  };
}

function paintBox(pen: Pen, scene: Scene, { at, left, wide, y, look, paint, plain }: Box): void {
  const { colour } = look;
  pen.fillStyle = paint.fill;
  pen.fillRect(left, y, wide, BOX_PX);
  if (colour && plain) paintSign(pen, scene.palette, colour, { left, y, wide, tall: BOX_PX });
  const text = nameIn(scene, at, wide);
  if (text === null) return;
  if (colour && isTextured(colour)) {
    pen.fillStyle = paint.fill; // text is not drawn on stripes
    pen.fillRect(left, y, Math.min(wide, textWidth(text) + 8), BOX_PX);
  }
  pen.fillStyle = paint.ink;
  pen.fillText(text, left + 4, y + BOX_PX / 2 + 0.5);
}

/** As much of the name as fits. */
function nameIn({ tree }: Scene, at: number, wide: number): string | null {
  if (wide < NAMED_PX) return null;
  const merged = tree.merged[at]!;
  const label = tree.label[at]!;
  const name = merged > 0 ? counted(merged, "smaller frame") : lineName(tree.names[label]!);
  const whole = textWidth(name) + 8 <= wide || tree.kinds[label] !== "python";
  return fitted(whole ? name : shortName(name), (text) => textWidth(text), wide);
}

/**
 * The picture as marks: sharp at any size, with searchable names. Adjacent frames narrower than a pixel in the same
 * colour are one mark.
 */
export function marks(scene: Scene): string {
  const looks = looksOf(scene.tree, scene.palette);
  const found: string[] = [];
  for (const row of rowsIn(scene)) {
    const y = row * ROW_PX - scene.top;
    const narrow = new Narrow(found, y);
    walk(
      scene,
      row,
      LEAST_PX,
      (at, left, right) => found.push(markOf(scene, boxOf(scene, looks, at, left, right, y))),
      (at, left, right) => narrow.add(boxOf(scene, looks, at, left, right, y)),
    );
    narrow.end();
  }
  return found.join("");
}

/** Narrow frames of a row: adjacent ones in the same colour are joined. */
class Narrow {
  private run: { left: number; right: number; fill: string; frames: number } | null = null;

  constructor(
    private readonly found: string[],
    private readonly y: number,
  ) {}

  add({ left, wide, paint: { fill } }: Box): void {
    const { run } = this;
    if (run && run.fill === fill && left - run.right < LEAST_PX) {
      run.right = left + wide;
      run.frames++;
      return;
    }
    this.end();
    this.run = { left, right: left + wide, fill, frames: 1 };
  }

  end(): void {
    if (this.run === null) return;
    const { left, right, fill, frames } = this.run;
    const place = `x="${round(left)}" y="${this.y}" width="${fine(right - left)}" height="${BOX_PX}"`;
    const rect = `<rect ${place} fill="${fill}"/>`;
    this.found.push(`<g><title>${counted(frames, "narrow frame")}</title>${rect}</g>`);
    this.run = null;
  }
}

function markOf(scene: Scene, { at, left, wide, y, paint }: Box): string {
  const x = round(left);
  const text = nameIn(scene, at, wide);
  const label = text && `<text x="${x + 4}" y="${y + 13}" font-size="12" fill="${paint.ink}">${escaped(text)}</text>`;
  const rect = `<rect x="${x}" y="${y}" width="${round(wide)}" height="${BOX_PX}" fill="${paint.fill}"/>`;
  return `<g><title>${escaped(lineName(scene.tree.names[scene.tree.label[at]!]!))}</title>${rect}${label ?? ""}</g>`;
}

const round = (px: number): number => Math.round(10 * px) / 10;

/** Rounds px to thousandths, for marks narrower than a pixel. */
const fine = (px: number): number => Math.round(1000 * px) / 1000;
