/** Paints the cells of a heat map. */

import type { Pen } from "../../../charts/canvas/canvas";
import { stripes } from "../../../charts/canvas/marks";
import type { Palette } from "../../../charts/canvas/palette";
import type { GridLayout } from "./bands";
import { type Levels, levelOf } from "./cells";

/** Rows at least this high have a line of ground between them. */
const PARTED_PX = 8;

export function paintGrid(
  pen: Pen,
  { rows, columns, width, height }: GridLayout,
  shown: Float64Array,
  levels: Levels,
  ramp: readonly string[],
  palette: Palette,
): void {
  pen.clearRect(0, 0, width, height);
  const lacking = stripes(pen, palette.firm);
  const tall = rows.px >= PARTED_PX ? rows.px - 1 : rows.px;
  for (let band = 0; band < rows.count; band++) {
    const top = band * rows.px;
    let column = 0;
    while (column < columns.count) {
      const fill = fillOf(shown[band * columns.count + column]!, levels, ramp);
      let end = column + 1; // neighbours of one colour are one mark
      while (end < columns.count && fillOf(shown[band * columns.count + end]!, levels, ramp) === fill) end++;
      const [left, right] = [Math.round(column * columns.px), Math.round(end * columns.px)];
      pen.fillStyle = fill ?? lacking;
      pen.fillRect(left, top, right - left, tall);
      column = end;
    }
  }
}

const fillOf = (value: number, levels: Levels, ramp: readonly string[]): string | undefined =>
  Number.isNaN(value) ? undefined : ramp[levelOf(value, levels)];
