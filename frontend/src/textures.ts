/**
 * Textures: what tells two parts apart where their colours are equally bright, in a grey print and for eyes that see
 * few hues. A texture belongs to a meaning as its colour does, in SVG pictures, in HTML bars and on canvases alike.
 *
 *     kernel    solid             data      \\\\  falling lines      other     ····  dots
 *     tensor    solid             comm      ××××  crossed lines      runtime   ════  lying lines
 *     copy      solid             cpu       ||||  upright lines      blocking  ####  grid
 *
 * The second sense of a colour ("hatched") is another thing: rising stripes of it over its faded self. Solid colours
 * that meet in a picture differ in brightness; a test computes that for both themes.
 */

import type { Colour } from "./colour";

export interface Texture {
  /** Side of the square that repeats, px. */
  size: number;
  /** Lines to stroke within it, as of an SVG path; a dot is a line without length and with round ends. */
  path: string;
  /** Of the lines, px. */
  width: number;
}

const lines = (size: number, path: string): Texture => ({ size, path, width: 1 });

/** Drawn in the colour of the page over the fill. A meaning without one is solid. */
export const TEXTURES: Readonly<Partial<Record<Colour, Texture>>> = {
  data: lines(7, "M-1 -1L8 8M6 -1L8 1M-1 6L1 8"),
  comm: lines(7, "M0 0L7 7M7 0L0 7"),
  cpu: lines(6, "M2.5 -1V7"),
  runtime: lines(5, "M-1 2.5H6"),
  blocking: lines(6, "M2.5 -1V7M-1 2.5H7"),
  other: { size: 5, path: "M1.5 1.5h0M4 4h0", width: 1.6 },
};

/** How strong the lines are: seen in a small bar, quiet in a large one. */
export const TEXTURE_OPACITY = 0.5;

/** The surface of either theme: style sheets cannot pass a variable into an image. */
const PAPER = { light: "#fff", dark: "#303030" } as const;

/** For each meaning `--texture`, an image over the colour of HTML marks, and `--paint`, what SVG marks fill with. */
export function textureSheet(): string {
  return Object.entries(TEXTURES)
    .map(([colour, texture]) => {
      const image = (paper: string) =>
        `{--texture:url("data:image/svg+xml,${encodeURIComponent(tile(texture, paper))}")}`;
      return [
        `.of-${colour}{--paint:url(#texture-${colour})}`,
        `.of-${colour}${image(PAPER.light)}`,
        `@media screen{.dark-mode .of-${colour}${image(PAPER.dark)}}`,
      ].join("\n");
    })
    .join("\n");
}

function tile({ size, path, width }: Texture, paper: string): string {
  return (
    `<svg xmlns='http://www.w3.org/2000/svg' width='${size}' height='${size}'>` +
    `<path d='${path}' fill='none' stroke='${paper}' stroke-opacity='${TEXTURE_OPACITY}' ` +
    `stroke-width='${width}' stroke-linecap='round'/></svg>`
  );
}
