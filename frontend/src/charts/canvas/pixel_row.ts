/**
 * A row of single pixels, drawn at once: thousands of narrow marks cost one picture and not a rectangle each.
 *
 *     pixels   r g - - b r r g      stretched to the height of the row; where nothing is set, nothing is drawn
 */

import type { Pen } from "./canvas";

export interface Strip {
  /** As a canvas stores them; 0 is nothing. */
  pixels: Uint32Array;
  used: boolean;
}

export const stripFor = (length: number): Strip => ({ pixels: new Uint32Array(Math.max(1, length)), used: false });

export function setPixels(strip: Strip, from: number, to: number, pixel: number): void {
  strip.pixels.fill(pixel, Math.max(0, from), to);
  strip.used = true;
}

let scratch: OffscreenCanvas | null = null;

/** Draws the row, `left` CSS pixels from the edge and as tall as asked for, and empties it. */
export function drawStrip(pen: Pen, strip: Strip, left: number, top: number, tall: number, density: number): void {
  if (!strip.used) return;
  const length = strip.pixels.length;
  if (scratch?.width !== length) scratch = new OffscreenCanvas(length, 1);
  const own = scratch.getContext("2d", { willReadFrequently: true })!;
  own.putImageData(new ImageData(new Uint8ClampedArray(strip.pixels.slice().buffer), length, 1), 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(scratch, 0, 0, length, 1, left, top, length / density, tall);
  strip.pixels.fill(0);
  strip.used = false;
}
