/** The measured range of time: how it is marked, and the text about it. */

import { sum } from "d3-array";
import type { BusyBins, KernelsNamed, TimelineStep } from "../../api.gen";
import { counted, fine, percent, shortened } from "../../format";
import { lengthOf, rangeOf, type TimeRange, touches } from "../../time_range";

/** The range between two instants, rounded to whole nanoseconds; null where it is empty. */
export function rangeBetween(one: number, other: number): TimeRange | null {
  const [from, to] = [Math.round(Math.min(one, other)), Math.round(Math.max(one, other))];
  return to > from ? { from, to } : null;
}

export const joined = (a: TimeRange | null, b: TimeRange): TimeRange =>
  a ? { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) } : { from: b.from, to: b.to };

/** An end this close to a box's edge snaps to it. */
const SNAP_PX = 6;

/** The nearest edge of the box under an instant where that is close, else the instant itself. */
export function snapped(ns: number, box: TimeRange | null, ns_per_px: number): number {
  if (!box) return ns;
  const edge = Math.abs(box.from - ns) <= Math.abs(box.to - ns) ? box.from : box.to;
  return Math.abs(edge - ns) <= SNAP_PX * ns_per_px ? edge : ns;
}

/** "in step 7", "steps 5 to 9, 3 of them whole", "between steps". */
export function stepsText(steps: readonly TimelineStep[], range: TimeRange): string {
  const met = steps.filter((step) => touches(rangeOf(step), range));
  const [first, last] = [met[0], met.at(-1)];
  if (!first || !last) return steps.length > 0 ? "outside the steps" : "";
  const whole = met.filter(({ start_ns, end_ns }) => start_ns >= range.from && end_ns <= range.to).length;
  if (met.length === 1) return whole === 1 ? `all of step ${first.name}` : `in step ${first.name}`;
  return `steps ${first.name} to ${last.name}, ${whole === met.length ? "all" : whole === 0 ? "none" : whole} whole`;
}

interface RangeFact {
  label: string;
  value: string;
}

/** As much of a name as distinguishes it from the two next to it. */
const NAME_LETTERS = 28;

const namedText = ({ name, total_ns }: KernelsNamed): string => `${shortened(name, NAME_LETTERS)} ${fine(total_ns)}`;

export function rangeFacts(range: TimeRange, { of, devices, busy_ns, kernels, most }: BusyBins): RangeFact[] {
  const length = lengthOf(range);
  const busy = sum(busy_ns) / devices;
  const spent = `${fine(busy)}, ${percent(busy / length)} of it`;
  if (of === "host") return [{ label: "Host in ops", value: spent }];
  return [
    { label: devices > 1 ? `${devices} GPUs busy, mean` : "GPU busy", value: spent },
    { label: "idle", value: fine(length - busy) },
    { label: "", value: `${counted(sum(kernels), "kernel")} start in it` },
    ...(most.length > 0 ? [{ label: "most time in", value: most.map(namedText).join(", ") }] : []),
  ];
}
