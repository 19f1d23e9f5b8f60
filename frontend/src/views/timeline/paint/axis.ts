/** The time axis, which counts from the start of the step that is shown. */

import { labelWidth, thinned } from "../../../charts/axes/labels";
import { ticks } from "../../../charts/axes/ticks";
import type { Pen } from "../../../charts/canvas/canvas";
import { tick } from "../../../format";
import { lengthOf } from "../../../time_range";
import { AXIS_PX, GUTTER_PX, type Scene } from "../scene";

/** The approximate width of a digit in the axis font, px. */
const DIGIT_PX = 6.2;

/** The space that a tick needs besides its own label, px. */
const BESIDE_PX = 40;

export function paintAxis(pen: Pen, scene: Scene): void {
  const { palette, width, time, step } = scene;
  pen.fillStyle = palette.surface;
  pen.fillRect(0, 0, width, AXIS_PX);
  pen.font = palette.fonts.axis;
  pen.fillStyle = palette.third;
  pen.fillText(`${step.name === "" ? "From the start" : "From the step’s start"}`, 0, 11);
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
    pen.fillText(text, Math.max(GUTTER_PX + labelWidth({ text }) / 2, x), 11);
  }
  pen.textAlign = "left";
}

function axisMarks({ visible, step, scale, time, width }: Scene): { x: number; text: string }[] {
  const one = scale.of(1);
  const [from, to] = [scale.of(visible.from - step.start_ns), scale.of(visible.to - step.start_ns)];
  const room = (width - GUTTER_PX) / (BESIDE_PX + DIGIT_PX * letters(to - from, to));
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

export function paintPointer(pen: Pen, { pointer_ns, time, palette, height }: Scene): void {
  if (pointer_ns === null) return;
  pen.fillStyle = palette.third;
  pen.fillRect(Math.round(time.x(pointer_ns)), AXIS_PX - 8, 1, height);
}

export function paintBand(pen: Pen, { band, time, palette, width, height }: Scene): void {
  if (!band || lengthOf(band) <= 0) return;
  const [left, right] = [Math.max(GUTTER_PX, time.x(band.from)), Math.min(width, time.x(band.to))];
  pen.fillStyle = palette.ink;
  pen.globalAlpha = 0.12;
  pen.fillRect(left, 0, right - left, height);
  pen.globalAlpha = 1;
}
