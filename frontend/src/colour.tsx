/**
 * Meanings as colours: classes, fills, and the small keys that legends show. The colours themselves are in
 * theme/tokens.css, the textures below; Python only names the meaning.
 */

import { share } from "./format";

export const COLOURS = [
  "kernel",
  "tensor",
  "copy",
  "comm",
  "data",
  "cpu",
  "runtime",
  "blocking",
  "other",
  "ink",
  "excess",
] as const;

export type Colour = (typeof COLOURS)[number];

/** A mark in the colour of a meaning; hatched: in its second sense. */
export interface Filled {
  colour: string;
  hatched: boolean;
}

/** A name that this bundle does not know is drawn as "other", never omitted. */
export function colourOf(name: string): Colour {
  return COLOURS.find((colour) => colour === name) ?? "other";
}

/** The classes of an HTML mark: the fill of its meaning, hatched for the second sense. */
export function fillClass(name: string, hatched = false): string {
  return `fill of-${colourOf(name)}${hatched ? " hatch" : ""}`;
}

/** A meaning's colour alone, where no neighbour has to be distinguished by a texture. */
const plainFill = (name: string): string => `var(--c-${colourOf(name)})`;

/** How an SVG mark is painted: its fill, and an edge where the fill alone is too faint. */
export function svgPaint(name: string, hatched = false): { fill: string; stroke: string } {
  return { fill: svgFill(name, hatched), stroke: hatched ? "none" : `var(--c-${colourOf(name)}-edge, none)` };
}

/** The fill of an SVG mark: its colour, its colour under a texture, or hatched for the second sense. */
export function svgFill(name: string, hatched = false): string {
  const colour = colourOf(name);
  if (hatched) return `url(#hatch-${colour})`;
  return TEXTURES[colour] ? `url(#texture-${colour})` : plainFill(colour);
}

/** A small square in the colour of its meaning. */
export function Swatch({ colour, hatched = false }: { colour: string; hatched?: boolean }) {
  return <i class={`swatch ${fillClass(colour, hatched)}`} />;
}

/** The fills of SVG pictures, once in the document: stripes (`#hatch-data`) and textures (`#texture-data`). */
export function Patterns() {
  return (
    <svg width="0" height="0" style={{ position: "absolute" }} aria-hidden="true">
      <defs>
        {COLOURS.map((colour) => (
          <pattern key={colour} id={`hatch-${colour}`} width="5" height="5" patternUnits="userSpaceOnUse">
            <rect width="5" height="5" fill={`var(--c-${colour})`} fill-opacity=".22" />
            <path
              d="M-1 1l2-2M0 5l5-5M4 6l2-2"
              stroke={`var(--c-${colour}-edge, var(--c-${colour}))`}
              stroke-width="1.3"
            />
          </pattern>
        ))}
        {COLOURS.map((colour) => (
          <TexturePattern key={colour} colour={colour} />
        ))}
      </defs>
    </svg>
  );
}

function TexturePattern({ colour }: { colour: Colour }) {
  const texture = TEXTURES[colour];
  if (!texture) return null;
  const { size, path, width } = texture;
  return (
    <pattern id={`texture-${colour}`} width={size} height={size} patternUnits="userSpaceOnUse">
      <rect width={size} height={size} fill={`var(--c-${colour})`} />
      <path
        d={path}
        fill="none"
        stroke="var(--surface)"
        stroke-opacity={TEXTURE_OPACITY}
        stroke-width={width}
        stroke-linecap="round"
      />
    </pattern>
  );
}

/** Explains what the levels of a row mean, which are shares. of: what has them. */
export function Ramp({ colour, of }: { colour: string; of: string }) {
  const [low, high] = [share(0), share(1)];
  return (
    <span class="ramp" role="img" aria-label={`Scale of ${of}, from ${low} to ${high}`}>
      {low}
      <svg width="110" height="10" class={`of-${colourOf(colour)}`} aria-hidden="true">
        <rect class="empty" width="110" height="10" />
        {Array.from({ length: 10 }, (_, at) => (
          <rect key={at} class="mark" fill-opacity={(at + 1) / 10} x={10 * (at + 1)} width="10" height="10" />
        ))}
      </svg>
      {high}
    </span>
  );
}

/** The number of runs that have a colour of their own; the second half of them is dashed as well. */
export const RUN_COLOURS = 12;

/** The classes of a line: of the run with that index among the colours, or of one of many lines. */
export function lineClass({ hue, focus, strong = false }: LineLook): string {
  if (hue === undefined) return focus ? "line" : "line others";
  return `line${hue % RUN_COLOURS >= RUN_COLOURS / 2 ? " dashed" : ""}${focus || strong ? " strong" : ""}`;
}

/** The class that colours the marks inside an element. */
export const hueClass = (hue: number): string => `run-${hue % RUN_COLOURS}`;

export interface LineLook {
  focus: boolean;
  hue?: number | undefined;
  /** Drawn as boldly as the line in focus. */
  strong?: boolean | undefined;
}

export function LineSample(look: LineLook) {
  const { focus, hue } = look;
  const filled = focus || look.strong;
  return (
    <svg
      class={`plot sample ${hue === undefined ? (focus ? "of-ink" : "") : hueClass(hue)}`}
      width="24"
      height="10"
      aria-hidden="true"
    >
      <path class={lineClass(look)} d="M0 5h24" />
      {(hue === undefined || filled) && <circle class={filled ? "mark" : "hollow"} cx="12" cy="5" r="3.2" />}
    </svg>
  );
}

/**
 * Textures distinguish two parts whose colours are equally bright, in a grey print and for readers who see few hues. A
 * texture belongs to a meaning, as its colour does, in SVG pictures, in HTML bars and on canvases alike.
 *
 *     kernel    solid             data      \\\\  falling lines      other     ····  dots
 *     tensor    solid             comm      ××××  crossed lines      runtime   ════  lying lines
 *     copy      solid             cpu       ||||  upright lines      blocking  ####  grid
 *
 * The second sense of a colour ("hatched") is something else: rising stripes of the colour over a faded version of it.
 * Solid colours that meet in a picture differ in brightness; a test computes that for both themes.
 */
export interface Texture {
  /** Side of the square that repeats, px. */
  size: number;
  /** Lines to stroke within the square, as an SVG path; a dot is a line of no length with round ends. */
  path: string;
  /** Width of the lines, px. */
  width: number;
}

const lines = (size: number, path: string): Texture => ({ size, path, width: 1 });

/** Drawn over the fill in the colour of the page. A meaning without an entry is solid. */
export const TEXTURES: Readonly<Partial<Record<Colour, Texture>>> = {
  data: lines(7, "M-1 -1L8 8M6 -1L8 1M-1 6L1 8"),
  comm: lines(7, "M0 0L7 7M7 0L0 7"),
  cpu: lines(6, "M2.5 -1V7"),
  runtime: lines(5, "M-1 2.5H6"),
  blocking: lines(6, "M2.5 -1V7M-1 2.5H7"),
  other: { size: 5, path: "M1.5 1.5h0M4 4h0", width: 1.6 },
  excess: lines(5, "M-1 1l2-2M0 5l5-5M4 6l2-2"),
};

/** The opacity of the lines: visible in a small bar, unobtrusive in a large one. */
export const TEXTURE_OPACITY = 0.5;

/** The surface colour of each theme: style sheets cannot pass a variable into an image. */
const PAPER = { light: "#fff", dark: "#303030" } as const;

/**
 * The classes of meanings and of runs, which are not meanings and have colours of their own. A meaning sets `--fill`,
 * `--on` for text, `--edge` where the fill is too faint, `--texture`, an image over the colour of HTML marks, and
 * `--paint`, the fill of SVG marks.
 */
export function meaningSheet(): string {
  const meanings = COLOURS.map(
    (id) => `.of-${id}{--fill:var(--c-${id});--on:var(--on-${id});--edge:var(--c-${id}-edge)}`,
  );
  const runs = Array.from({ length: RUN_COLOURS }, (_, run) => `.${hueClass(run)}{--fill:var(--run-${run})}`);
  const textures = Object.entries(TEXTURES).flatMap(([colour, texture]) => {
    const image = (paper: string) =>
      `{--texture:url("data:image/svg+xml,${encodeURIComponent(tile(texture, paper))}")}`;
    return [
      `.of-${colour}{--paint:url(#texture-${colour})}`,
      `.of-${colour}${image(PAPER.light)}`,
      `@media screen{.dark-mode .of-${colour}${image(PAPER.dark)}}`,
    ];
  });
  return [...meanings, ...runs, ...textures].join("\n");
}

function tile({ size, path, width }: Texture, paper: string): string {
  return (
    `<svg xmlns='http://www.w3.org/2000/svg' width='${size}' height='${size}'>` +
    `<path d='${path}' fill='none' stroke='${paper}' stroke-opacity='${TEXTURE_OPACITY}' ` +
    `stroke-width='${width}' stroke-linecap='round'/></svg>`
  );
}
