/** Meanings as classes. Colours themselves live in theme/tokens.css; Python only names the meaning. */

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
] as const;

export type Colour = (typeof COLOURS)[number];

/** A name that this bundle does not know is drawn as "other", never left out. */
export function colourOf(name: string): Colour {
  return COLOURS.find((colour) => colour === name) ?? "other";
}

/** Classes of an HTML mark: its meaning, painted, hatched for the second sense. */
export function fillClass(name: string, hatched = false): string {
  return `fill of-${colourOf(name)}${hatched ? " hatch" : ""}`;
}

/** Fill of an SVG mark. */
export function svgFill(name: string, hatched = false): string {
  return hatched ? `url(#hatch-${colourOf(name)})` : `var(--c-${colourOf(name)})`;
}
