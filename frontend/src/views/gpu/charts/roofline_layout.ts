/** Where the dots and roofs of a roofline are: both axes are logarithmic, with whole powers of ten at their ends. */

import { max, min } from "d3-array";

/** One dot. x: FLOP/byte, y: TFLOP/s, both above 0; area: the quantity to which its area is proportional. */
export interface RooflinePoint {
  key: string;
  x: number;
  y: number;
  area: number;
}

/** A flat roof, TFLOP/s. */
export interface FlatRoof {
  name: string;
  tflops: number;
}

interface Frame {
  left: number;
  right: number;
  top: number;
  foot: number;
}

export interface RooflineScales {
  x(value: number): number;
  y(value: number): number;
  xTicks: readonly number[];
  yTicks: readonly number[];
  /** Ends of the axes. */
  xs: readonly [number, number];
  ys: readonly [number, number];
}

/** The radius of the dot with most time, and the smallest radius that can be seen and pointed at, px. */
const LARGEST = 16;
const LEAST = 3;

export function scalesOf(
  points: readonly RooflinePoint[],
  roofs: readonly FlatRoof[],
  memory_gbs: number | null,
  { left, right, top, foot }: Frame,
): RooflineScales {
  const ridges = memory_gbs === null ? [] : roofs.map(({ tflops }) => (1000 * tflops) / memory_gbs);
  const xs = decades([...points.map(({ x }) => x), ...ridges]);
  const ys = decades([...points.map(({ y }) => y), ...roofs.map(({ tflops }) => tflops)]);
  return {
    x: (value) => left + share(value, xs) * (right - left),
    y: (value) => foot - share(value, ys) * (foot - top),
    xTicks: powers(xs),
    yTicks: powers(ys),
    xs,
    ys,
  };
}

/** The range between two powers of ten, at least one power apart. */
function decades(values: readonly number[]): readonly [number, number] {
  const low = Math.floor(Math.log10(min(values) ?? 1));
  const high = Math.ceil(Math.log10(max(values) ?? 10));
  return [10 ** low, 10 ** Math.max(high, low + 1)];
}

const share = (value: number, [low, high]: readonly [number, number]): number =>
  Math.log(value / low) / Math.log(high / low);

function powers([low, high]: readonly [number, number]): number[] {
  const first = Math.round(Math.log10(low));
  return Array.from({ length: Math.round(Math.log10(high)) - first + 1 }, (_, at) => 10 ** (first + at));
}

export const radius = (area: number, most: number): number => Math.max(LEAST, LARGEST * Math.sqrt(area / most));

/** The points of the line, px: the memory's slope up to a flat roof, then the roof. */
export function roofLine(tflops: number, memory_gbs: number, scales: RooflineScales): [number, number][] {
  const ridge = (1000 * tflops) / memory_gbs;
  const [from, to] = scales.xs;
  const [low] = scales.ys;
  const start = Math.max(from, (1000 * low) / memory_gbs);
  const slope: [number, number][] =
    ridge > start ? [[scales.x(start), scales.y((start * memory_gbs) / 1000)]] : [[scales.x(from), scales.y(tflops)]];
  return [...slope, [scales.x(Math.max(from, ridge)), scales.y(tflops)], [scales.x(to), scales.y(tflops)]];
}

/** Where the name of the memory's slope, `wide` px long, ends: to the left of the slope, where there are no dots.
 *
 *         3350 GB/s /
 *                  /
 */
export function memoryLabel(line: readonly [number, number][], wide: number, left: number): { x: number; y: number } {
  const [[x0, y0], [x1, y1]] = line as [[number, number], [number, number]];
  const x = Math.min(x1, Math.max(x0 + (x1 - x0) / 4, left + wide + 2 * APART));
  if (x - APART - wide < left) return { x: left + APART + wide, y: y1 - APART }; // too little of the slope is visible
  return { x: x - APART, y: y0 + ((y1 - y0) * (x - x0)) / (x1 - x0) - 2 };
}

/** Where the name of a flat roof, `wide` px long, ends: above its right end, or its left one if fewer dots are there.
 *
 *        FP32 15.7 TFLOP/s   o oo O
 *      /--------------------------
 */
export function roofName(
  line: readonly [number, number][],
  wide: number,
  dots: readonly { x: number; y: number; r: number }[],
): { x: number; y: number } {
  const [[from, at], [to]] = line.slice(-2) as [[number, number], [number, number]];
  const covered = (end: number) =>
    dots.filter(({ x, y, r }) => x + r > end - wide && x - r < end && y + r > at - HIGH && y - r < at).length;
  const left = from + APART + wide;
  return { x: left < to && covered(left) < covered(to) ? left : to, y: at - 4 };
}

/** The height of a name and its distance to its line, px. */
const HIGH = 16;

/** The distance between the slope and its name, px. */
const APART = 8;
