/** How frames of each label are drawn: computed once per tree and theme, not for each box. */

import { mixed, type Palette, pixelOf, shadeOf } from "../../../charts/canvas/palette";
import type { Colour } from "../../../colour";
import type { Kind, Tree } from "./tree";

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

/** A fill and the colour of text on it. */
export interface Paint {
  fill: string;
  ink: string;
  /** The fill in the format of a canvas's pixels. */
  pixel: number;
}

export interface Look {
  colour: Colour | null;
  plain: Paint;
  /** Used next to frames that a search highlighted. */
  faded: Paint;
  /** Used for the callers of the zoomed frame, which in full colour would look like its sum. */
  above: Paint;
}

const looks = new WeakMap<Palette, WeakMap<readonly string[], readonly Look[]>>();

/** The looks by label. */
export function looksOf({ names, kinds }: Pick<Tree, "names" | "kinds">, palette: Palette): readonly Look[] {
  const known = looks.get(palette) ?? new WeakMap<readonly string[], readonly Look[]>();
  looks.set(palette, known);
  const found = known.get(names) ?? names.map((name, label) => lookOf(name, kinds[label]!, palette));
  known.set(names, found);
  return found;
}

function lookOf(name: string, kind: Kind, palette: Palette): Look {
  const colour = COLOUR_OF[kind];
  if (colour === null) {
    const paper = paint(palette.sunken, palette.second);
    return { colour, plain: paper, faded: paint(palette.sunken, palette.third), above: paper };
  }
  const shade = colour === "other" ? 0 : shadeOf(name); // lines of code are below each other, not side by side
  const fill = palette.fills.get(colour)![shade]!;
  return {
    colour,
    plain: { fill: fill.plain, ink: fill.ink, pixel: fill.plainPixel },
    faded: { fill: fill.dim, ink: palette.third, pixel: fill.dimPixel },
    above: paint(mixed(fill.plain, palette.surface, 0.7), palette.ink),
  };
}

const paint = (fill: string, ink: string): Paint => ({ fill, ink, pixel: pixelOf(fill) });
