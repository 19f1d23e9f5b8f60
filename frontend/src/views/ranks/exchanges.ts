/** Collectives of a job by kind, group and type, each with its sizes. */

import type { JobCollective } from "../../api.gen";

/** Sums over its sizes; most: the size with the longest transfers, whose bandwidth stands for all. */
export interface Exchange {
  key: string;
  most: JobCollective;
  sizes: readonly JobCollective[];
  count: number;
  transfer_ns: number;
  wait_ns: number;
  running_ns: number;
  exposed_ns: number;
}

export function exchangesOf(collectives: readonly JobCollective[]): Exchange[] {
  const groups = new Map<string, JobCollective[]>();
  for (const each of collectives) {
    const key = [each.kind, each.group, each.members, each.dtype].join("\n"); // other groups may have that name
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups].map(([key, sizes]) => {
    const sum = (of: (each: JobCollective) => number) => sizes.reduce((whole, each) => whole + of(each), 0);
    return {
      key,
      most: sizes.reduce((most, each) => (each.transfer_ns > most.transfer_ns ? each : most)),
      sizes: [...sizes].sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0)),
      count: sum(({ count }) => count),
      transfer_ns: sum(({ transfer_ns }) => transfer_ns),
      wait_ns: sum(({ wait_ns }) => wait_ns),
      running_ns: sum(({ running_ns }) => running_ns),
      exposed_ns: sum(({ exposed_ns }) => exposed_ns),
    };
  });
}

/** Whether any word of the filter's is in what a row says. */
export const matches = (text: string, typed: string): boolean =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.toLowerCase().includes(word));
