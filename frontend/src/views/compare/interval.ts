/** How every picture and table of a comparison writes a change and its 95 % interval. */

import { type Scale, scaleFor } from "../../format";
import { scaleOf, type TimeUnit } from "../../scale";
import { signed } from "./difference";

export interface Interval {
  low: number | null;
  high: number | null;
}

/** "-34.0 to -28.1 ms"; empty where it is not known, one figure where both ends read the same. */
export function intervalText({ low, high }: Interval, scale: Scale): string {
  if (low === null || high === null) return "";
  const [from, to] = [signedNumber(low, scale), signed(high, scale)];
  return to.startsWith(`${from}\u00a0`) ? to : `${from} to ${to}`;
}

/** "-34.0 to -28.1", where the unit is written next to it. */
export const bareInterval = ({ low, high }: Interval, scale: Scale): string =>
  low === null || high === null ? "" : `${signedNumber(low, scale)} to ${signedNumber(high, scale)}`;

const signedNumber = (value: number, scale: Scale): string =>
  signed(value, { ...scale, text: (size) => scale.number(size) });

/** Whether 0 is outside the interval; null where it is not known. */
export const isClear = ({ low, high }: Interval): boolean | null =>
  low === null || high === null ? null : low > 0 || high < 0;

export const NOT_CLEAR = "not distinguishable from noise";

/** The ratio of the longest step to the shortest one from which each experiment has its own unit. */
const UNLIKE = 100;

export interface StepScales {
  /** The scale of an axis. */
  all: Scale;
  /** The scale of an experiment with this mean step. */
  of(step_ns: number): Scale;
}

export function stepScales(steps_ns: readonly number[], unit: TimeUnit): StepScales {
  const all = scaleOf(steps_ns, "ns", unit);
  const unlike = unit === "auto" && Math.max(...steps_ns) > UNLIKE * Math.min(...steps_ns);
  return { all, of: (step_ns) => (unlike ? scaleFor(step_ns, "ns") : all) };
}
