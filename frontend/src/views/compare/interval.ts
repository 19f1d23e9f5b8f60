/** A change and its 95 % interval, as every picture and table of a comparison writes them. */

import type { Scale } from "../../format";
import { signed } from "./difference";

export interface Interval {
  low: number | null;
  high: number | null;
}

/** "-34.0 to -28.1 ms"; empty where it is not known, one figure where both are written alike. */
export function intervalText({ low, high }: Interval, scale: Scale): string {
  if (low === null || high === null) return "";
  const [from, to] = [signedNumber(low, scale), signed(high, scale)];
  return to.startsWith(`${from}\u00a0`) ? to : `${from} to ${to}`;
}

/** "-34.0 to -28.1", where the unit stands beside it. */
export const bareInterval = ({ low, high }: Interval, scale: Scale): string =>
  low === null || high === null ? "" : `${signedNumber(low, scale)} to ${signedNumber(high, scale)}`;

const signedNumber = (value: number, scale: Scale): string =>
  signed(value, { ...scale, text: (size) => scale.number(size) });

/** Whether 0 is outside of it; null where it is not known. */
export const isClear = ({ low, high }: Interval): boolean | null =>
  low === null || high === null ? null : low > 0 || high < 0;

export const NOT_CLEAR = "not distinguishable from noise";
