/** Which labels of an axis are written: as many as stand apart, evenly. */

export interface AxisLabel {
  x: number;
  text: string;
}

/** Mean width of a character of axis type, px. Digits are this wide; words are a little narrower. */
export const CHARACTER = 6.2;

const APART = 10;

const PACES = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];

/** Every n-th label, with the least n at which none touches the next. Opens with the first. */
export function thinned(labels: readonly AxisLabel[]): readonly AxisLabel[] {
  const pace = PACES.find((each) => fits(everyNth(labels, each)));
  return everyNth(labels, pace ?? Math.max(1, labels.length));
}

const everyNth = (labels: readonly AxisLabel[], n: number): readonly AxisLabel[] =>
  labels.filter((_, at) => at % n === 0);

function fits(labels: readonly AxisLabel[]): boolean {
  return labels.every((label, at) => {
    const next = labels[at + 1];
    return next === undefined || next.x - label.x >= (CHARACTER * (label.text.length + next.text.length)) / 2 + APART;
  });
}
