/** Chooses which labels of an axis are written: as many as do not collide, evenly spaced. */

import { textWidth } from "../../dom/text_width";

export interface AxisLabel {
  x: number;
  text: string;
}

export const labelWidth = ({ text }: { text: string }): number => textWidth(text, "axis");

/** Room between two labels, px. */
const GAP_PX = 10;

const PACES = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];

/** Keeps every n-th label from the first on, with the smallest n at which none touches the next. */
export function thinned(labels: readonly AxisLabel[]): readonly AxisLabel[] {
  const pace = PACES.find((each) => fits(everyNth(labels, each)));
  return everyNth(labels, pace ?? Math.max(1, labels.length));
}

const everyNth = (labels: readonly AxisLabel[], n: number): readonly AxisLabel[] =>
  labels.filter((_, at) => at % n === 0);

function fits(labels: readonly AxisLabel[]): boolean {
  return labels.every((label, at) => {
    const next = labels[at + 1];
    return next === undefined || next.x - label.x >= (labelWidth(label) + labelWidth(next)) / 2 + GAP_PX;
  });
}
