/**
 * Where tracks lie, from top to bottom: a heading for each group, under it its tracks with one thin line per row.
 *
 *     GPU 0             heading of a group
 *     Stream 7   ====   a track of one row
 *     Thread     ====   a track of two
 *                 ==
 */

import type { Track } from "../../api.gen";

export const ROW_PX = 18;
export const HEADING_PX = 22;
export const QUEUE_PX = 38;

/** Between two tracks. */
const GAP_PX = 4;

/** Deeper stacks would push the GPU out of sight: they are folded until they are pressed. */
const DEEP_ROWS = 10;

/** The rows of a folded track are this thin in all, and each within these bounds. */
const FOLDED_PX = 120;
const THIN_PX = [3, 6] as const;

export type Place =
  | { kind: "heading"; text: string }
  | { kind: "track"; track: Track; name: string; rows: number; row_px: number }
  | { kind: "queue" };

export type Placed = Place & { top: number; height: number };

export interface Layout {
  places: readonly Placed[];
  height: number;
  /** By track id. */
  tracks: ReadonlyMap<number, Placed & { kind: "track" }>;
}

/** `turned`: tracks that stand the other way than they do by themselves, folded or open. */
export function layoutOf(tracks: readonly Track[], hasQueue: boolean, toggledTracks: ReadonlySet<number>): Layout {
  const places: Placed[] = [];
  let top = 0;
  const put = (place: Place, height: number, gap = 0) => {
    places.push({ ...place, top, height });
    top += height + gap;
  };
  const lastOnDevice = tracks.findLastIndex(({ kind }) => kind === "stream" || kind === "ranges");
  tracks.forEach((track, at) => {
    if (track.group !== "" && track.group !== tracks[at - 1]?.group)
      put({ kind: "heading", text: track.group }, HEADING_PX);
    const rows = Math.max(1, track.rows);
    const row_px = rows > 1 && rows > DEEP_ROWS !== toggledTracks.has(track.id) ? foldedPx(rows) : ROW_PX;
    put(
      { kind: "track", track, name: nameOf(track, tracks[at - 1]), rows, row_px },
      Math.max(ROW_PX, rows * row_px),
      GAP_PX,
    );
    if (hasQueue && at === lastOnDevice) put({ kind: "queue" }, QUEUE_PX, GAP_PX);
  });
  return {
    places,
    height: top,
    tracks: new Map(places.flatMap((place) => (place.kind === "track" ? [[place.track.id, place] as const] : []))),
  };
}

const foldedPx = (rows: number): number => Math.max(THIN_PX[0], Math.min(THIN_PX[1], Math.floor(FOLDED_PX / rows)));

/** The calls of a thread stand right under it: its name need not be said again. */
function nameOf(track: Track, above: Track | undefined): string {
  return track.kind === "calls" && above?.kind === "thread" ? "Its runtime calls" : track.label;
}

/** The place at a height, or undefined between and below them. */
export function placeAt({ places }: Layout, y: number): Placed | undefined {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle]!.top + places[middle]!.height > y) high = middle;
    else low = middle + 1;
  }
  const found = places[low];
  return found && y >= found.top ? found : undefined;
}

/** Where a row of a track stands; null where there is no such row: -1 is that of a frame that is folded away. */
export function rowTop(layout: Layout, track: number, row: number): number | null {
  const place = layout.tracks.get(track);
  return place && row >= 0 && row < place.rows ? place.top + row * place.row_px : null;
}

/** How tall its boxes are: the rest of the row parts it from the next. */
export const boxHeight = (row_px: number): number => (row_px >= ROW_PX ? ROW_PX - 2 : row_px - 1);

/**
 * Tracks that any page has named, in the order of the newest; those that it lacks keep their place after their
 * neighbour.
 */
export function mergedTracks(known: readonly Track[], fresh: readonly Track[]): readonly Track[] {
  const missing = known.filter((track) => !fresh.some(({ id }) => id === track.id));
  const deepest = fresh.map((track) => ({
    ...track,
    rows: Math.max(track.rows, known.find(({ id }) => id === track.id)?.rows ?? 1),
  }));
  const merged = missing.reduce<Track[]>((all, track) => insertAfter(all, track, known), deepest);
  return sameTracks(known, merged) ? known : merged;
}

function insertAfter(all: Track[], track: Track, known: readonly Track[]): Track[] {
  const before = known[known.findIndex(({ id }) => id === track.id) - 1];
  const at = all.findIndex(({ id }) => id === before?.id) + 1;
  return [...all.slice(0, at), track, ...all.slice(at)];
}

function sameTracks(a: readonly Track[], b: readonly Track[]): boolean {
  return (
    a.length === b.length &&
    a.every((track, at) => track.id === b[at]!.id && track.rows === b[at]!.rows && track.label === b[at]!.label)
  );
}
