/** Items by a key, and figures of many rows. */

import { max } from "d3-array";
import { cached } from "./cached";

/** Items by key, in their order. */
export function grouped<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) cached(groups, keyOf(item), () => []).push(item);
  return groups;
}

/** The largest figure of all rows, and at least 1: bars are shares of it. */
export const largestOf = <Row>(rows: readonly Row[], of: (row: Row) => number): number =>
  Math.max(1, max(rows, of) ?? 0);

/** A quantile of sorted values, interpolated linearly between the two nearest; null for an empty array. */
export function quantileOf(sorted: Float64Array, share: number): number | null {
  if (sorted.length === 0) return null;
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!];
  return below + (at - Math.floor(at)) * (above - below);
}
