/** The ranks of a job as rows of the heat map, and the orders in which they can be shown. */

import type { JobRanks } from "../../api.gen";
import type { Worst } from "./charts/cells";
import { meanOf } from "./charts/cells";
import type { UnpackedMap } from "./map_data";

/** What is known of a rank besides its metrics. */
export interface MapRow {
  /** The id of its span. */
  span: string;
  name: string;
  /** The rank's number, where it is known. */
  rank: number | null;
  host: string | null;
  /** How long it makes the others wait, ns per step; null: not known. */
  makes_wait_ns: number | null;
}

/** caused_ns: by rank; empty where nothing is matched. */
export const rowsOf = ({ ranks }: JobRanks, caused_ns: readonly number[]): MapRow[] =>
  ranks.map(({ key, rank, host }, at) => ({
    span: key,
    name: `rank ${rank}`,
    rank,
    host,
    makes_wait_ns: caused_ns[at] ?? null,
  }));

const ORDERS = ["rank", "host", "waits", "value"] as const;

export type Order = (typeof ORDERS)[number];

/** The orders that are meaningful for these ranks, and what they are called. */
export function ordersOf(rows: readonly MapRow[]): { id: Order; label: string; meaning: string }[] {
  const hosts = new Set(rows.map(({ host }) => host)).size > 1;
  const waits = rows.some(({ makes_wait_ns }) => makes_wait_ns !== null);
  return [
    { id: "rank", label: "Rank", meaning: "By the number of the rank." },
    ...(hosts ? [{ id: "host" as const, label: "Host", meaning: "Ranks of a host together." }] : []),
    ...(waits
      ? [{ id: "waits" as const, label: "Delay", meaning: "The rank that the others wait for most first." }]
      : []),
    { id: "value", label: "Value", meaning: "The worst mean over the steps first." },
  ];
}

/** The rows of the matrix from top to bottom; ranks that the matrix lacks are left out. */
export function orderOf(rows: readonly MapRow[], by: Order, matrix: UnpackedMap, worst: Worst): number[] {
  const place = new Map(matrix.map.spans.map((span, at) => [span, at]));
  const shown = rows.filter(({ span }) => place.has(span)).map((row) => ({ row, at: place.get(row.span)! }));
  const sign = worst === "most" ? -1 : 1;
  const key: Readonly<Record<Order, (each: (typeof shown)[number]) => number | string>> = {
    rank: ({ row }) => row.rank ?? Infinity,
    host: ({ row }) => row.host ?? "",
    waits: ({ row }) => -(row.makes_wait_ns ?? -1),
    value: ({ at }) => sign * (meanOf(matrix, [at]) ?? -sign * Infinity),
  };
  const of = new Map(shown.map((each) => [each, key[by](each)]));
  shown.sort((a, b) => compared(of.get(a)!, of.get(b)!) || compared(key.rank(a), key.rank(b)));
  return shown.map(({ at }) => at);
}

const BY_NAME = new Intl.Collator("en", { numeric: true });

function compared(a: number | string, b: number | string): number {
  if (typeof a === "string" || typeof b === "string") return BY_NAME.compare(String(a), String(b));
  return a === b ? 0 : a - b;
}

/** "rank 3"; several consecutive ones are "ranks 16–31", others "16 ranks". */
export function namesOf(rows: readonly MapRow[]): string {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return "";
  if (rows.length === 1) return first.name;
  const follow = rows.every(({ rank }, at) => rank !== null && rank === first.rank! + at);
  return follow ? `ranks ${first.rank}–${last.rank}` : `${rows.length} ranks`;
}
