/** Work that was launched and has not started: the area is the mean in each pixel, the thin line the peak. */

import { zeroAxis } from "../../../charts/axes/ticks";
import { haloed, type Pen } from "../../../charts/canvas/canvas";
import { count } from "../../../format";
import type { Layer } from "../data/pages";
import { GUTTER_PX, type Scene } from "../scene";

/** One value per pixel, from the left edge of the tracks on. */
interface QueuePixels {
  mean: Float64Array;
  peak: Float64Array;
}

/** Room above the highest peak for its number. */
const ABOVE_PX = 4;

export function paintQueue(pen: Pen, scene: Scene, top: number, height: number): void {
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
