/**
 * The theme's colours as a canvas needs them. A meaning keeps its colour; three close shades of it, chosen by the name,
 * separate neighbours that mean the same. Shades go towards the ink, so that none is fainter than the colour itself.
 */

import { useEffect, useState } from "preact/hooks";
import { COLOURS, type Colour } from "../../colour";

export interface Fill {
  plain: string;
  ink: string;
  /** Used next to boxes that a search highlighted. */
  dim: string;
  /** `plain` and `dim` as a canvas stores pixels. */
  plainPixel: number;
  dimPixel: number;
}

export interface Palette {
  surface: string;
  sunken: string;
  line: string;
  firm: string;
  ink: string;
  second: string;
  third: string;
  fills: ReadonlyMap<Colour, readonly Fill[]>;
  fonts: { small: string; axis: string; title: string };
}

/** How far each shade is from the colour towards the ink. */
const SHADES = [0, 0.13, 0.26];

const SHADE_COUNT = SHADES.length;

/** How far a box that does not match the search fades. */
const FADED = 0.82;

export function paletteOf(read: (token: string) => string): Palette {
  const [surface, ink] = [read("--surface"), read("--ink")];
  const fills = COLOURS.map(
    (colour) => [colour, SHADES.map((by) => fillOf(mixed(read(`--c-${colour}`), ink, by), surface))] as const,
  );
  const font = read("--font");
  return {
    surface,
    ink,
    sunken: read("--sunken"),
    line: read("--line"),
    firm: read("--line-firm"),
    second: read("--ink-2"),
    third: read("--ink-3"),
    fills: new Map(fills),
    fonts: { axis: `12px ${font}`, small: `12px ${font}`, title: `500 12px ${font}` },
  };
}

/** The contrast that WCAG 2 requires of small text. */
const READABLE = 4.5;

function fillOf(plain: string, surface: string): Fill {
  const text = contrast("#ffffff", plain) >= READABLE ? "#ffffff" : "#000000"; // one of the two always is
  const dim = mixed(plain, surface, FADED);
  return { plain, ink: text, dim, plainPixel: pixelOf(plain), dimPixel: pixelOf(dim) };
}

/** Red, green, blue and full opacity, one byte each, in the order in which they lie in memory. */
export function pixelOf(hex: string): number {
  return new Uint32Array(new Uint8Array([...rgb(hex), 255]).buffer)[0]!;
}

/** A name has the same shade in every page. */
export function shadeOf(name: string): number {
  let mark = 0;
  for (let at = 0; at < name.length; at++) mark = (mark * 31 + name.charCodeAt(at)) | 0;
  return (mark >>> 4) % SHADE_COUNT;
}

type Rgb = readonly [number, number, number];

/** Reads `#rrggbb`, or `#rgb` as a bundler shortens it. */
function rgb(hex: string): Rgb {
  const digits = hex.length === 4 ? hex.replace(/[^#]/g, "$&$&") : hex;
  return [1, 3, 5].map((at) => parseInt(digits.slice(at, at + 2), 16)) as unknown as Rgb;
}

/** Mixes two `#rrggbb` colours: a share of the way from one to the other. */
export function mixed(hex: string, other: string, by: number): string {
  const [from, to] = [rgb(hex), rgb(other)];
  return `#${from
    .map((part, at) =>
      Math.round(part + (to[at]! - part) * by)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

/** The contrast ratio as WCAG 2 defines it, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [red, green, blue] = rgb(hex).map((part) =>
    part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  ) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** System colours that replace the theme's where the user forces colours: they are few, so textures carry the rest. */
const FORCED: Readonly<Record<string, string>> = {
  "--surface": "Canvas",
  "--sunken": "Canvas",
  "--line": "GrayText",
  "--c-copy": "GrayText",
  "--c-other": "GrayText",
  "--c-data": "Highlight",
  "--c-comm": "Highlight",
  "--c-blocking": "Highlight",
  "--c-tensor": "LinkText",
};

const forced = (): MediaQueryList => window.matchMedia("(forced-colors: active)");

/** The palette of the system's colours, which computed styles give as "rgb(…)". */
function forcedPalette(styles: CSSStyleDeclaration): Palette {
  const probe = document.body.appendChild(document.createElement("i"));
  const colourOf = (keyword: string) => {
    probe.style.color = keyword;
    return hexOf(getComputedStyle(probe).color);
  };
  const palette = paletteOf((token) =>
    token === "--font" ? styles.getPropertyValue(token).trim() : colourOf(FORCED[token] ?? "CanvasText"),
  );
  probe.remove();
  return palette;
}

/** Converts "rgb(29, 29, 27)" to "#1d1d1b". */
function hexOf(colour: string): string {
  const parts = colour.match(/\d+(\.\d+)?/g)?.slice(0, 3) ?? ["0", "0", "0"];
  return `#${parts.map((part) => Math.round(Number(part)).toString(16).padStart(2, "0")).join("")}`;
}

/** The theme's colours, read again when TensorBoard's theme or the system's changes. */
export function usePalette(): Palette {
  const [palette, setPalette] = useState(readPalette);
  useEffect(() => {
    const observer = new MutationObserver(() => setPalette(readPalette()));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
    const system = forced();
    const changed = () => setPalette(readPalette());
    system.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      system.removeEventListener("change", changed);
    };
  }, []);
  return palette;
}

function readPalette(): Palette {
  const styles = getComputedStyle(document.documentElement);
  return forced().matches ? forcedPalette(styles) : paletteOf((token) => styles.getPropertyValue(token).trim());
}
