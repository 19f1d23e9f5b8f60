/**
 * A page of events prepared for drawing: typed arrays, cut into rows in which boxes follow one another.
 *
 *     row of a track   [a   ][b ]   [c      ]      from and to both ascend: binary search finds what is visible
 */

import type { Depth, TimelinePage, Track } from "../../../api.gen";
import { cached } from "../../../cached";
import { shadeOf } from "../../../charts/canvas/palette";
import { lineName } from "../../../code_line";
import { type Colour, colourOf } from "../../../colour";
import { rangeOf, type TimeRange } from "../../../time_range";

/** Boxes [first, end) of the columns. */
interface Row {
  first: number;
  end: number;
}

export interface Boxes {
  covers: TimeRange;
  /** Events narrower than this are merged. */
  detail_ns: number;
  tracks: readonly Track[];
  rows: ReadonlyMap<number, Row>;
  from: Float64Array;
  to: Float64Array;
  track: Int32Array;
  row: Int32Array;
  name: Int32Array;
  colour: Int32Array;
  count: Int32Array;
  event: Int32Array;
  /** Names as they are written on boxes, and as the trace has them. */
  names: readonly string[];
  fullNames: readonly string[];
  /** The shade for each name, so that neighbours differ. */
  shades: Uint8Array;
  colours: readonly Colour[];
  queue: Depth | null;
}

/** One event or, where count > 1, several merged ones. */
export interface Box extends TimeRange {
  track: number;
  row: number;
  event: number;
  name: string;
  fullName: string;
  count: number;
}

const NOWHERE: Row = { first: 0, end: 0 };

/** More rows than any stack of calls has levels. */
const ROWS = 4096;

export const rowKey = (track: number, row: number): number => track * ROWS + row;

export function boxesOf(page: TimelinePage): Boxes {
  const { boxes } = page;
  // constructors and loops: `from` with a function goes through an iterator, which is ten times as slow
  const from = new Float64Array(boxes.start_ns);
  const to = new Float64Array(boxes.length_ns);
  for (let at = 0; at < from.length; at++) {
    from[at]! += page.start_ns;
    to[at]! += from[at]!;
  }
  return {
    covers: rangeOf(page),
    detail_ns: page.detail_ns,
    tracks: page.tracks,
    rows: rowsOf(boxes.track, boxes.row),
    from,
    to,
    track: new Int32Array(boxes.track),
    row: new Int32Array(boxes.row),
    name: new Int32Array(boxes.name),
    colour: new Int32Array(boxes.colour),
    count: new Int32Array(boxes.count),
    event: new Int32Array(boxes.event),
    names: page.names.map(lineName),
    fullNames: page.full_names.map((full, at) => full || page.names[at]!),
    shades: Uint8Array.from(page.names, shadeOf),
    colours: page.colours.map(colourOf),
    queue: page.queue,
  };
}

export function coloursOf(pages: readonly { boxes: Boxes }[]): ReadonlySet<Colour> {
  return new Set(pages.flatMap(({ boxes }) => usedBy(boxes)));
}

/** Each page's boxes are scanned only once. */
const used = new WeakMap<Boxes, readonly Colour[]>();

const usedBy = (boxes: Boxes): readonly Colour[] =>
  cached(used, boxes, () => [...new Set(boxes.colour)].map((at) => boxes.colours[at]!));

function rowsOf(track: readonly number[], row: readonly number[]): Map<number, Row> {
  const rows = new Map<number, Row>();
  for (let first = 0, at = 1; at <= track.length; at++) {
    if (at < track.length && track[at] === track[first] && row[at] === row[first]) continue;
    if (track.length > 0) rows.set(rowKey(track[first]!, row[first]!), { first, end: at });
    first = at;
  }
  return rows;
}

/** The first index of [first, end) whose value is above `least`; `end` where there is none. The values ascend. */
export function firstAbove(values: Float64Array, least: number, first: number, end: number): number {
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! > least) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The boxes of a row in a range of time; none where there is no such row. */
export function inSight(boxes: Boxes, { first, end }: Row = NOWHERE, { from, to }: TimeRange): Row {
  const begin = firstAbove(boxes.to, from, first, end);
  return { first: begin, end: Math.max(begin, firstAbove(boxes.from, to, begin, end)) };
}

export function boxAt(boxes: Boxes, at: number): Box {
  return {
    track: boxes.track[at]!,
    row: boxes.row[at]!,
    event: boxes.event[at]!,
    count: boxes.count[at]!,
    from: boxes.from[at]!,
    to: boxes.to[at]!,
    name: boxes.names[boxes.name[at]!] ?? "",
    fullName: boxes.fullNames[boxes.name[at]!] ?? "",
  };
}

/** The box of a row at an instant, or the nearest within `reach_ns` of it; null where there is none. */
export function hit(boxes: Boxes, row: Row, ns: number, reach_ns: number): number | null {
  const after = firstAbove(boxes.to, ns, row.first, row.end);
  const near = [after, after - 1]
    .filter((at) => at >= row.first && at < row.end)
    .map((at) => [at, apart(boxes, at, ns)] as const);
  const [best] = near.sort((a, b) => a[1] - b[1]);
  return best && best[1] <= reach_ns ? best[0] : null;
}

function apart(boxes: Boxes, at: number, ns: number): number {
  return Math.max(0, boxes.from[at]! - ns, ns - boxes.to[at]!);
}
