/**
 * The ranks of a job as rows of the heat map, the orders in which they can be shown, and one metric of all of them:
 * requested when it is chosen, and unpacked into a matrix.
 */

import { useMemo } from "preact/hooks";
import type { JobRanks, Problem, RankMap, RanksPage } from "../../api.gen";
import type { ViewSource } from "../../server/client";
import { useRequested } from "../../server/requested";
import { bySize } from "../../words";
import type { ViewPart } from "../props";
import { type Matrix, meanOf, type Worst } from "./charts/cells";

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

/** A picture of a job's ranks in a step, whose rows open the Timeline of a rank. */
export interface RankPart extends ViewPart {
  page: RanksPage;
  rows: readonly MapRow[];
  /** The keys of the address that choose a rank. */
  keysOf(row: MapRow): object;
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
  shown.sort((a, b) => bySize(of.get(a)!, of.get(b)!) || bySize(key.rank(a), key.rank(b)));
  return shown.map(({ at }) => at);
}

/** "rank 3"; several consecutive ones are "ranks 16–31", others "16 ranks". */
export function namesOf(rows: readonly MapRow[]): string {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return "";
  if (rows.length === 1) return first.name;
  const follow = rows.every(({ rank }, at) => rank !== null && rank === first.rank! + at);
  return follow ? `ranks ${first.rank}–${last.rank}` : `${rows.length} ranks`;
}

export interface UnpackedMap extends Matrix {
  map: RankMap;
}

export interface MapAnswer {
  found: UnpackedMap | null;
  problem: Problem | null;
}

/** span: any one of the job; version: changes with each rank that is read. The previous metric stays meanwhile. */
export function useRankMap(source: ViewSource, span: string, metric: string, version: string): MapAnswer {
  const { page: map, problem } = useRequested(
    source,
    [span, metric, version].join("\n"),
    (signal) => source.rankMap(span, metric, signal),
    true,
  );
  return { found: useMemo(() => map && matrixOf(map), [map]), problem };
}

function matrixOf(map: RankMap): UnpackedMap {
  return { map, rows: map.spans.length, columns: map.steps.length, values: unpacked(map.values) };
}

/** Decodes 32-bit floats, little endian as browsers' machines are; the first float is not one of the values. */
const unpacked = (letters: string): Float64Array => Float64Array.from(new Float32Array(bytesOf(letters).buffer, 4));

/** Decodes base64. A loop, because a function called for each of 300,000 letters takes 10 ms. */
export function bytesOf(letters: string): Uint8Array<ArrayBuffer> {
  const text = atob(letters);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}
