/** The curve of memory in bins, as areas and outlines; what it is at an instant. */

/** Bins of equal length over [from, to): bin i begins at from + i x length / count. */
export interface Curve {
  from: number;
  to: number;
  least: readonly number[];
  most: readonly number[];
  /** Empty without a caching allocator. */
  reservedLeast: readonly number[];
  reservedMost: readonly number[];
}

/** Where a picture draws an instant and a size. */
export interface Band {
  x(ns: number): number;
  y(bytes: number): number;
  foot: number;
}

const edgeOf = ({ from, to, most }: Curve, at: number): number => from + (at * (to - from)) / most.length;

/** A step line over the bins; neighbours of one height are one step. */
function stepsOf(curve: Curve, values: readonly number[], { x, y }: Band): string {
  let path = "";
  values.forEach((value, at) => {
    if (value === values[at - 1]) return;
    path += `${at === 0 ? "" : `H${x(edgeOf(curve, at)).toFixed(1)}`}V${y(value).toFixed(1)}`;
  });
  return `${path}H${x(curve.to).toFixed(1)}`;
}

export function outlineOf(curve: Curve, values: readonly number[], place: Band): string {
  const [first] = values;
  if (first === undefined) return "";
  return `M${place.x(curve.from).toFixed(1)} ${place.y(first).toFixed(1)}${stepsOf(curve, values, place)}`;
}

export function areaOf(curve: Curve, values: readonly number[], place: Band): string {
  if (values.length === 0) return "";
  return `M${place.x(curve.from).toFixed(1)} ${place.foot}${stepsOf(curve, values, place)}V${place.foot}z`;
}

/** Of the bin that holds the instant; null beyond the ends. */
export function valuesAt(curve: Curve, at: number): Record<"least" | "most" | "reserved", number | null> {
  const { from, to, least, most, reservedMost } = curve;
  const bin = Math.floor(((at - from) / (to - from)) * most.length);
  return { least: least[bin] ?? null, most: most[bin] ?? null, reserved: reservedMost[bin] ?? null };
}
