/**
 * The levels of a heat map as colours: from the sunken ground to the colour of the meaning, and on towards the ink, so
 * that lightness alone orders them in either theme and in any vision.
 */

import { mixed, type Palette } from "../../../charts/canvas/palette";
import type { Colour } from "../../../colour";
import { LEVELS } from "./cells";

/** The faintest level stands out from the ground. */
const FAINTEST = 0.14;

/** Where the colour itself stands, and how far the last level is from it to the ink. */
const PURE = 0.68;
const DEEPEST = 0.5;

export function rampOf(palette: Palette, colour: Colour): readonly string[] {
  const own = palette.fills.get(colour)![0]!.plain;
  return Array.from({ length: LEVELS }, (_, level) => {
    const at = FAINTEST + ((1 - FAINTEST) * level) / (LEVELS - 1);
    return at <= PURE
      ? mixed(palette.sunken, own, at / PURE)
      : mixed(own, palette.ink, (DEEPEST * (at - PURE)) / (1 - PURE));
  });
}
