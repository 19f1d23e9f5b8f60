/**
 * What changed from one span to another, in whole ns, so that the parts of a step add up to the step; and how every
 * picture and table of a comparison writes a change and its 95 % interval.
 */

import type { Filled } from "../../colour";
import { type Scale, scaleFor } from "../../format";
import { scaleOf, type TimeUnit } from "../../scale";
import type { Names } from "../props";

/** A part of the mean step in both spans. */
export interface PartPair extends Filled {
  id: string;
  label: string;
  own_ns: number;
  other_ns: number;
}

type Part = Pick<PartPair, "id" | "label" | "colour" | "hatched">;

/** The parts that either span has, in the order of the first list; those that only the other has come last. */
export function pairsOf(
  own: readonly (Part & { ns: number })[],
  other: readonly (Part & { ns: number })[],
): readonly PartPair[] {
  const [here, there] = [byId(own), byId(other)];
  const all = [...new Map([...other, ...own].map((part) => [part.id, part])).values()];
  const place = new Map(
    [...own, ...other]
      .map(({ id }) => id)
      .map((id, at) => [id, at] as const)
      .reverse(),
  );
  return all
    .map(({ id, label, colour, hatched }) => ({
      ...{ id, label, colour, hatched },
      own_ns: here.get(id) ?? 0,
      other_ns: there.get(id) ?? 0,
    }))
    .filter((part) => part.own_ns !== 0 || part.other_ns !== 0)
    .sort((a, b) => place.get(a.id)! - place.get(b.id)!);
}

const byId = (parts: readonly { id: string; ns: number }[]): ReadonlyMap<string, number> =>
  new Map(parts.map(({ id, ns }) => [id, ns]));

/** How much more the chosen span takes. */
export const differenceOf = ({ own_ns, other_ns }: Pick<PartPair, "own_ns" | "other_ns">): number => own_ns - other_ns;

/** How much more the candidate takes. */
export const changeOf = ({ base_ns, candidate_ns }: { base_ns: number; candidate_ns: number }): number =>
  candidate_ns - base_ns;

/** "+3.2 ms", "-0.4 ms"; a change that is too small for its column has no sign. */
export function signed(value: number, scale: Scale): string {
  const length = scale.text(Math.abs(value));
  return value === 0 || length.startsWith("<") ? length : (value < 0 ? "-" : "+") + length;
}

/** A change below this share of the step counts as no change. */
const SAME_FRACTION = 0.005;

/** "A step of amp takes 36.5 ms (22 %) less than one of baseline" */
export function differenceTitle({ name, own }: Names, own_ns: number, other_ns: number, share: (of: number) => string) {
  const moved = own_ns - other_ns;
  if (other_ns === 0 || Math.abs(moved) < SAME_FRACTION * other_ns)
    return `A step of ${own} takes as long as one of ${name}`;
  const length = scaleFor(Math.max(own_ns, other_ns), "ns").text(Math.abs(moved));
  const part = share(Math.abs(moved) / other_ns);
  return `A step of ${own} takes ${length} (${part}) ${moved < 0 ? "less" : "more"} than one of ${name}`;
}

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
  all: Scale;
  of(step_ns: number): Scale;
}

export function stepScales(steps_ns: readonly number[], unit: TimeUnit): StepScales {
  const all = scaleOf(steps_ns, "ns", unit);
  const unlike = unit === "auto" && Math.max(...steps_ns) > UNLIKE * Math.min(...steps_ns);
  return { all, of: (step_ns) => (unlike ? scaleFor(step_ns, "ns") : all) };
}
