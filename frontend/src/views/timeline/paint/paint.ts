/**
 * Paints the picture on two canvases: tracks, names and the axis; over them what the pointer and the chosen event add,
 * so that a moving pointer costs next to nothing. The time axis counts from the start of the step that is shown.
 */

import type { TimelineStep } from "../../../api.gen";
import { thinned, ticks, zeroAxis } from "../../../charts/axes";
import { haloed, type Pen } from "../../../charts/canvas/canvas";
import { textWidth } from "../../../dom/text_width";
import { count, fine, ns, tick } from "../../../format";
import { lengthOf, type TimeScale, touches } from "../../../time_range";
import type { Layer } from "../data/pages";
import type { Placed } from "../layout";
import { AXIS_PX, GUTTER_PX, type Scene, topOf } from "../scene";
import { paintBoxes } from "./boxes";
import { paintGap, paintGapText, paintLaunches, paintRings } from "./chosen";
import { paintFocusedHead, paintHead } from "./heads";

export function paintScene(pen: Pen, scene: Scene): void {
  const { width, height, palette, layout } = scene;
  pen.fillStyle = palette.surface;
  pen.fillRect(0, 0, width, height);
  pen.textBaseline = "middle";
  const fold = AXIS_PX + layout.fixed_px;
  paintRegion(pen, scene, AXIS_PX, fold);
  paintRegion(pen, scene, fold, height);
  if (layout.fixed_px > 0) {
    pen.fillStyle = palette.firm;
    pen.fillRect(0, fold - 2, width, 1);
  }
  paintAxis(pen, scene);
}

/** Paints the places between two heights of the canvas: the pinned tracks, or those that scroll under them. */
function paintRegion(pen: Pen, scene: Scene, top: number, bottom: number): void {
  const places = scene.layout.places.filter((place) => {
    const y = topOf(scene, place);
    return (
      y + place.height > top &&
      y < bottom &&
      place.top < scene.layout.fixed_px === top < AXIS_PX + scene.layout.fixed_px
    );
  });
  clipped(pen, GUTTER_PX, top, scene.width, bottom, () => paintTracks(pen, scene, places));
  clipped(pen, 0, top, scene.width, bottom, () => {
    for (const place of places) paintHead(pen, scene, place);
  });
}

/** The inputs of the first canvas. */
export const groundOf = ({
  visible,
  layout,
  layers,
  palette,
  step,
  matches,
  off,
  scroll,
  width,
  height,
}: Scene): readonly unknown[] => [visible, layout, layers, palette, step, matches, off, scroll, width, height];

export function paintOver(pen: Pen, scene: Scene): void {
  const { width, height } = scene;
  pen.clearRect(0, 0, width, height);
  pen.textBaseline = "middle";
  clipped(pen, GUTTER_PX, AXIS_PX, width, height, () => {
    paintGap(pen, scene);
    paintRings(pen, scene);
    paintLaunches(pen, scene);
  });
  paintFocusedHead(pen, scene);
  paintRange(pen, scene);
  clipped(pen, GUTTER_PX, AXIS_PX, width, height, () => paintGapText(pen, scene));
  paintPointer(pen, scene);
  paintBand(pen, scene);
}

/** The additional inputs of the second one. */
export const overOf = ({ pointed, head, pointer_ns, chosen, range, band }: Scene): readonly unknown[] => [
  pointed,
  head,
  pointer_ns,
  chosen,
  range,
  band,
];

function paintTracks(pen: Pen, scene: Scene, visible: readonly Placed[]): void {
  const { palette, width } = scene;
  pen.fillStyle = palette.sunken;
  for (const place of visible) {
    if (place.kind !== "heading")
      pen.fillRect(GUTTER_PX, topOf(scene, place), width - GUTTER_PX, place.height - (place.kind === "track" ? 2 : 0));
  }
  paintBorders(pen, scene);
  for (const place of visible) {
    if (place.kind === "track") paintBoxes(pen, scene, place);
    else if (place.kind === "queue") paintQueue(pen, scene, topOf(scene, place), place.height);
  }
}

function clipped(pen: Pen, left: number, top: number, right: number, bottom: number, paint: () => void): void {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, right - left, bottom - top);
  pen.clip();
  paint();
  pen.restore();
}

/** A step this narrow has no borders; one this wide has fully opaque ones. */
const GONE_PX = 5;
const FULL_PX = 40;

/** The opacity of the faintest border that is drawn. */
const FAINTEST = 0.15;

interface Border {
  /** Whole px. */
  x: number;
  /** 0 to 1. */
  strength: number;
}

/** One border at each instant, as strong as the wider of the two steps that meet there requires. */
export function bordersOf(steps: readonly TimelineStep[], time: TimeScale): Border[] {
  const strengths = new Map<number, number>();
  for (const { start_ns, end_ns } of steps) {
    const strength = strengthOf((end_ns - start_ns) / time.ns_per_px);
    if (strength === 0) continue;
    for (const ns of [start_ns, end_ns]) {
      const x = merged(Math.round(time.x(ns)), strengths);
      if (x >= time.left && x <= time.width) strengths.set(x, Math.max(strength, strengths.get(x) ?? 0));
    }
  }
  return [...strengths].map(([x, strength]) => ({ x, strength }));
}

/** The end of a step and the start of the next, one or two pixels apart, are one border. */
const merged = (x: number, columns: ReadonlyMap<number, number>): number =>
  [x - 1, x - 2].find((near) => columns.has(near)) ?? x;

export function strengthOf(wide_px: number): number {
  if (wide_px < GONE_PX) return 0;
  return Math.min(1, FAINTEST + ((1 - FAINTEST) * (wide_px - GONE_PX)) / (FULL_PX - GONE_PX));
}

function paintBorders(pen: Pen, { steps, time, palette, layout, scroll }: Scene): void {
  pen.fillStyle = palette.firm;
  for (const { x, strength } of bordersOf(steps, time)) {
    pen.globalAlpha = strength;
    pen.fillRect(x, AXIS_PX, 1, layout.height - scroll);
  }
  pen.globalAlpha = 1;
}

/** The measured range: a light band between two lines, with its length in the time axis. */
const SHADE = 0.08;

/** Space to the left and right of the length. */
const BESIDE_PX = 6;

function paintRange(pen: Pen, scene: Scene): void {
  const { range, visible, time, palette, height } = scene;
  if (!range || !touches(range, visible)) return;
  const [left, right] = [Math.round(time.clampedX(range.from)), Math.round(time.clampedX(range.to))];
  pen.fillStyle = palette.ink;
  pen.globalAlpha = SHADE;
  pen.fillRect(left, AXIS_PX, right - left, height);
  pen.globalAlpha = 1;
  for (const [ns, x] of [
    [range.from, left],
    [range.to, right],
  ] as const)
    if (ns >= visible.from && ns <= visible.to) pen.fillRect(x, 0, 1, height);
  paintLength(pen, (scene.brief ? ns : fine)(lengthOf(range)), (left + right) / 2, scene);
}

function paintLength(pen: Pen, text: string, middle: number, scene: Scene): void {
  const { time, palette } = scene;
  const wide = textWidth(text) + 2 * BESIDE_PX;
  const left = Math.round(Math.max(time.left, Math.min(time.width - wide, middle - wide / 2)));
  pen.fillStyle = palette.surface; // no half of a tick's label stands beside it
  for (const mark of thinned(axisMarks(scene))) {
    const half = textWidth(mark.text) / 2;
    if (mark.x + half > left && mark.x - half < left + wide) pen.fillRect(mark.x - half, 2, 2 * half, AXIS_PX - 10);
  }
  pen.fillStyle = palette.ink;
  pen.fillRect(left, 2, wide, AXIS_PX - 10);
  pen.font = palette.fonts.axis;
  pen.fillStyle = palette.surface;
  pen.fillText(text, left + BESIDE_PX, 2 + (AXIS_PX - 10) / 2 + 0.5);
}

/** The approximate width of a digit in the axis font, px. */
const DIGIT_PX = 6.2;

/** The space that a tick needs besides its own label, px. */
const BESIDE_TICK_PX = 40;

function paintAxis(pen: Pen, scene: Scene): void {
  const { palette, width, time, step, steps } = scene;
  pen.fillStyle = palette.surface;
  pen.fillRect(0, 0, width, AXIS_PX);
  pen.font = palette.fonts.axis;
  pen.fillStyle = palette.third;
  pen.fillText(steps.length > 1 ? "From the step’s start" : "From the start", 0, 11);
  const marks = axisMarks(scene);
  pen.fillStyle = palette.firm;
  pen.fillRect(GUTTER_PX, AXIS_PX - 2, width - GUTTER_PX, 1);
  for (const { x } of marks) pen.fillRect(Math.round(x), AXIS_PX - 7, 1, 5);
  pen.fillStyle = palette.ink; // the step that is shown
  const [left, right] = [Math.max(GUTTER_PX, time.x(step.start_ns)), Math.min(width, time.x(step.end_ns))];
  if (right > left) pen.fillRect(left, AXIS_PX - 3, right - left, 2);
  pen.textAlign = "center";
  pen.fillStyle = palette.third;
  for (const { x, text } of thinned(marks)) {
    const half = textWidth(text) / 2;
    pen.fillText(text, Math.max(GUTTER_PX + half, Math.min(width - half, x)), 11);
  }
  pen.textAlign = "left";
}

function axisMarks({ visible, step, scale, time, width }: Scene): { x: number; text: string }[] {
  const one = scale.of(1);
  const [from, to] = [scale.of(visible.from - step.start_ns), scale.of(visible.to - step.start_ns)];
  const room = (width - GUTTER_PX) / (BESIDE_TICK_PX + DIGIT_PX * letters(to - from, to));
  const all = ticks(from, to, Math.max(2, Math.floor(room)));
  return all.map((value, at) => ({
    x: time.x(step.start_ns + value / one),
    text: at === 0 ? `${tick(value)}\u00a0${scale.unit}` : tick(value),
  }));
}

/** The number of digits that distinguish ticks of a given spacing, at a given distance from the start. */
function letters(length: number, place: number): number {
  return Math.max(2, Math.ceil(Math.log10(Math.abs(place) + 1)) + 2 - Math.floor(Math.log10(length)));
}

function paintPointer(pen: Pen, { pointer_ns, time, palette, height }: Scene): void {
  if (pointer_ns === null) return;
  pen.fillStyle = palette.third;
  pen.fillRect(Math.round(time.x(pointer_ns)), AXIS_PX - 8, 1, height);
}

function paintBand(pen: Pen, { band, time, palette, width, height }: Scene): void {
  if (!band || lengthOf(band) <= 0) return;
  const [left, right] = [Math.max(GUTTER_PX, time.x(band.from)), Math.min(width, time.x(band.to))];
  pen.fillStyle = palette.ink;
  pen.globalAlpha = 0.12;
  pen.fillRect(left, 0, right - left, height);
  pen.globalAlpha = 1;
}

/** One value per pixel, from the left edge of the tracks on. */
interface QueuePixels {
  mean: Float64Array;
  peak: Float64Array;
}

/** Room above the highest peak for its number. */
const ABOVE_PX = 4;

/** Work that was launched and has not started: the area is the mean in each pixel, the thin line the peak. */
function paintQueue(pen: Pen, scene: Scene, top: number, height: number): void {
  const pixels = queuePixels(scene);
  const highest = pixels.peak.reduce((most, each) => Math.max(most, each), 0);
  const { end } = zeroAxis(highest, 4);
  const y = (depth: number) => top + height - 1 - (depth / end) * (height - ABOVE_PX);
  const fill = scene.palette.fills.get("runtime")!;
  pen.fillStyle = fill[0]!.plain;
  pen.beginPath();
  pen.moveTo(GUTTER_PX, y(0));
  pixels.mean.forEach((depth, x) => {
    pen.lineTo(GUTTER_PX + x, y(depth));
    pen.lineTo(GUTTER_PX + x + 1, y(depth));
  });
  pen.lineTo(GUTTER_PX + pixels.mean.length, y(0));
  pen.fill();
  pen.strokeStyle = fill[2]!.plain;
  pen.lineWidth = 1;
  pen.beginPath();
  pixels.peak.forEach((depth, x) => {
    pen.lineTo(GUTTER_PX + x + 0.5, y(depth) + 0.5);
  });
  pen.stroke();
  paintEnd(pen, scene, end, top);
}

function paintEnd(pen: Pen, { palette }: Scene, end: number, top: number): void {
  pen.font = palette.fonts.axis;
  haloed(pen, count(end), GUTTER_PX + 4, top + 9, palette.second, palette.sunken);
}

export function queuePixels({ layers, time, width }: Pick<Scene, "layers" | "time" | "width">): QueuePixels {
  const size = Math.max(0, Math.ceil(width - GUTTER_PX));
  const pixels = { mean: new Float64Array(size), peak: new Float64Array(size) };
  for (const layer of layers) addLayer(pixels, layer, time);
  return pixels;
}

/** Each pixel takes the mean of the bins that begin in it; a bin wider than a pixel fills all pixels that it covers. */
function addLayer({ mean, peak }: QueuePixels, { boxes, from, to }: Layer, time: Scene["time"]): void {
  const queue = boxes.queue;
  if (!queue) return;
  const pixelOf = (ns: number) => Math.floor(time.x(ns) - GUTTER_PX);
  const [low, high] = [Math.max(0, pixelOf(from)), Math.min(mean.length, Math.ceil(time.x(to) - GUTTER_PX))];
  for (let x = low; x < high; x++) {
    const begin = Math.max(0, Math.floor((time.ns(GUTTER_PX + x) - boxes.covers.from) / queue.bin_ns));
    const end = Math.min(
      queue.peak.length,
      Math.max(begin + 1, Math.floor((time.ns(GUTTER_PX + x + 1) - boxes.covers.from) / queue.bin_ns)),
    );
    let sum = 0;
    for (let bin = begin; bin < end; bin++) {
      sum += queue.mean_permille[bin]!;
      peak[x] = Math.max(peak[x]!, queue.peak[bin]!);
    }
    mean[x] = end > begin ? sum / (1000 * (end - begin)) : 0;
  }
}
