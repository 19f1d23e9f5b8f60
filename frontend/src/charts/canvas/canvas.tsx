/**
 * A canvas as sharp as the screen, painted at most once per frame and only when something changed; and the marks that
 * canvas pictures share: stripes, rounded arrows, text with a halo, rows of single pixels.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLatest } from "../../dom/hooks";

export type Pen = CanvasRenderingContext2D;

interface SheetProps {
  width: number;
  height: number;
  paint(pen: Pen): void;
  /** The inputs of the picture: it is painted again in the next frame when one of them changes. */
  of: readonly unknown[];
}

export function Sheet({ width, height, paint, of }: SheetProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useLatest(paint);
  const frame = useRef(0);
  const density = useDensity();
  const size = `${width} ${height} ${density}`;
  const painted = useRef({ size: "", of });
  useLayoutEffect(() => {
    const before = painted.current;
    painted.current = { size, of };
    if (before.size !== size)
      draw(canvas.current!, latest.current); // a canvas of another size is empty
    else if (!frame.current && of.some((part, at) => part !== before.of[at])) {
      frame.current = requestAnimationFrame(() => {
        frame.current = 0;
        if (canvas.current) draw(canvas.current, latest.current);
      });
    }
  });
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return (
    <canvas
      ref={canvas}
      width={Math.round(width * density)}
      height={Math.round(height * density)}
      aria-hidden="true"
      style={{ display: "block", width: `${width}px`, height: `${height}px` }}
    />
  );
}

function draw(canvas: HTMLCanvasElement, paint: (pen: Pen) => void): void {
  const pen = canvas.getContext("2d")!;
  const density = canvas.width / Math.max(1, canvas.clientWidth || canvas.width);
  pen.setTransform(density, 0, 0, density, 0, 0);
  paint(pen);
}

/** Device pixels per CSS pixel; they change when the window moves to another screen, and with the browser's zoom. */
function useDensity(): number {
  const [density, set] = useState(() => window.devicePixelRatio || 1);
  useEffect(() => {
    const query = window.matchMedia(`(resolution: ${density}dppx)`);
    const changed = () => set(window.devicePixelRatio || 1);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [density]);
  return density;
}

const STRIPES_PX = 6;

/** Diagonal stripes for `fillStyle`, like the hatches of SVG pictures. */
export function stripes(pen: Pen, colour: string): CanvasPattern | string {
  const tile = new OffscreenCanvas(STRIPES_PX, STRIPES_PX);
  const own = tile.getContext("2d")!;
  own.strokeStyle = colour;
  own.lineWidth = 1.3;
  own.beginPath();
  for (const shift of [-STRIPES_PX, 0, STRIPES_PX]) {
    own.moveTo(shift - 1, STRIPES_PX + 1);
    own.lineTo(shift + STRIPES_PX + 1, -1);
  }
  own.stroke();
  return pen.createPattern(tile, "repeat") ?? colour;
}

/** Upright lines, which stand for many narrow marks next to each other. */
export function comb(pen: Pen, colour: string, between: string): CanvasPattern | string {
  const tile = new OffscreenCanvas(4, 1);
  const own = tile.getContext("2d")!;
  own.fillStyle = colour;
  own.fillRect(0, 0, 4, 1);
  own.fillStyle = between;
  own.fillRect(3, 0, 1, 1);
  return pen.createPattern(tile, "repeat") ?? colour;
}

export function haloed(pen: Pen, text: string, x: number, y: number, ink: string, halo: string): void {
  pen.lineJoin = "round";
  pen.lineWidth = 4;
  pen.strokeStyle = halo;
  pen.strokeText(text, x, y);
  pen.fillStyle = ink;
  pen.fillText(text, x, y);
}

/** A text over a hatch: a halo would leave the hatch between its letters. */
export function plated(pen: Pen, text: string, x: number, y: number, ink: string, plate: string): void {
  pen.fillStyle = plate;
  pen.fillRect(x - 3, y - 7, pen.measureText(text).width + 6, 14);
  pen.fillStyle = ink;
  pen.fillText(text, x, y);
}

const HEAD_PX = 6;

/** A bent line with an arrowhead at its end; the halo keeps it readable over marks. */
export function arrow(
  pen: Pen,
  from: readonly [number, number],
  to: readonly [number, number],
  ink: string,
  halo: string,
): void {
  for (const [colour, width] of [
    [halo, 4],
    [ink, 1.5],
  ] as const) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(...from);
    pen.bezierCurveTo(to[0] - 2 * HEAD_PX, from[1], to[0] - 2 * HEAD_PX, from[1], to[0] - HEAD_PX, to[1]);
    pen.stroke();
  }
  pen.fillStyle = ink;
  pen.beginPath();
  pen.moveTo(...to);
  pen.lineTo(to[0] - HEAD_PX, to[1] - HEAD_PX / 2);
  pen.lineTo(to[0] - HEAD_PX, to[1] + HEAD_PX / 2);
  pen.fill();
}

/**
 * A row of single pixels, drawn at once: thousands of narrow marks cost one image instead of a rectangle each.
 *
 *     pixels   r g - - b r r g      stretched to the height of the row; pixels that are not set are transparent
 */
export interface Strip {
  /** Pixels as a canvas stores them; 0 is empty. */
  pixels: Uint32Array;
  used: boolean;
}

export const stripFor = (length: number): Strip => ({ pixels: new Uint32Array(Math.max(1, length)), used: false });

export function setPixels(strip: Strip, from: number, to: number, pixel: number): void {
  strip.pixels.fill(pixel, Math.max(0, from), to);
  strip.used = true;
}

let scratch: OffscreenCanvas | null = null;

/** Draws the row `left` CSS pixels from the edge, as tall as given, and empties it. */
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
