/** The parts of a picture can be told from each other and from the page without hues, in both themes. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { contrast } from "../src/charts/canvas/palette";
import { COLOURS, type Colour, meaningSheet, svgFill, svgPaint, TEXTURES } from "../src/colour";

const SHEET = readFileSync(new URL("../src/theme/tokens.css", import.meta.url), "utf8");

const LIGHT = tokensOf(":root {");
const THEMES = { light: LIGHT, dark: new Map([...LIGHT, ...tokensOf(":root.dark-mode {")]) };

function tokensOf(opening: string): Map<string, string> {
  const block = SHEET.split(opening)[1]!.split("}")[0]!;
  return new Map([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name, hex]) => [name!, hex!]));
}

/** Any two parts of a step, or reasons why a GPU waits, may be neighbours, because a part between them may be 0. */
const OF_A_STEP = COLOURS.filter((colour) => colour !== "tensor" && colour !== "ink");
/** Kernel time by use of tensor cores. */
const OF_KERNELS: readonly Colour[] = ["tensor", "kernel", "other"];

/** From this contrast on, two greys with a line of background between them look different. */
const SEEN = 1.5;
/** The least contrast of WCAG 2.2, 1.4.11. */
const GRAPHIC = 3;

describe.each(Object.entries(THEMES))("in the %s theme", (_, tokens) => {
  const colour = (name: string) => tokens.get(`c-${name}`)!;

  test.each([
    ["of a step", OF_A_STEP],
    ["of kernel time", OF_KERNELS],
  ])("neighbours %s differ in brightness or in texture", (_, parts) => {
    const alike = parts.flatMap((one, at) =>
      parts
        .slice(at + 1)
        .filter((other) => TEXTURES[one]?.path === TEXTURES[other]?.path)
        .filter((other) => contrast(colour(one), colour(other)) < SEEN)
        .map((other) => `${one} and ${other}`),
    );
    expect(alike).toEqual([]);
  });

  test.each(["surface", "sunken"])("each colour, or its edge, stands out from %s", (ground) => {
    const faint = COLOURS.filter((name) => name !== "ink")
      .map((name) => [name, tokens.get(`c-${name}-edge`) ?? colour(name)] as const)
      .filter(([, hex]) => contrast(hex, tokens.get(ground)!) < GRAPHIC);
    expect(faint).toEqual([]);
  });

  test("borders of controls stand out from the page", () => {
    expect(contrast(tokens.get("line-firm")!, tokens.get("surface")!)).toBeGreaterThan(GRAPHIC);
  });
});

test("no two textures are alike", () => {
  const paths = Object.values(TEXTURES).map((texture) => texture.path);
  expect(new Set(paths).size).toBe(paths.length);
});

test("an SVG mark has its texture, its colour where it has none, stripes for the second sense", () => {
  expect([svgFill("data"), svgFill("kernel"), svgFill("data", true), svgFill("unheard of")]).toEqual([
    "url(#texture-data)",
    "var(--c-kernel)",
    "url(#hatch-data)",
    "url(#texture-other)",
  ]);
  expect(svgPaint("copy")).toEqual({ fill: "var(--c-copy)", stroke: "var(--c-copy-edge, none)" });
});

test("HTML marks and SVG marks get the same textures", () => {
  const sheet = decodeURIComponent(meaningSheet());
  for (const [colour, { path }] of Object.entries(TEXTURES)) {
    expect(sheet).toContain(`.of-${colour}{--paint:url(#texture-${colour})}`);
    expect(sheet.split(`.of-${colour}{--texture:`)[1]).toContain(`<path d='${path}'`);
  }
});
