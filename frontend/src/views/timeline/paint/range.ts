/** The range that is measured: a light band between two lines, with its length in the time axis. */

import type { Pen } from "../../../charts/canvas/canvas";
import { textWidth } from "../../../dom/text_width";
import { fine } from "../../../format";
import { lengthOf, touches } from "../../../time_range";
import { AXIS_PX, type Scene } from "../scene";

const SHADE = 0.08;

/** Left and right of the length. */
const BESIDE_PX = 6;

export function paintRange(pen: Pen, { range, visible, time, palette, height }: Scene): void {
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
  paintLength(pen, fine(lengthOf(range)), (left + right) / 2, { time, palette });
}

function paintLength(pen: Pen, text: string, middle: number, { time, palette }: Pick<Scene, "time" | "palette">): void {
  const wide = textWidth(text, "axis") + 2 * BESIDE_PX;
  const left = Math.round(Math.max(time.left, Math.min(time.width - wide, middle - wide / 2)));
  pen.fillStyle = palette.ink;
  pen.fillRect(left, 2, wide, AXIS_PX - 10);
  pen.font = palette.fonts.axis;
  pen.fillStyle = palette.surface;
  pen.fillText(text, left + BESIDE_PX, 2 + (AXIS_PX - 10) / 2 + 0.5);
}
