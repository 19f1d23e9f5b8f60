/**
 * Where tracks are, from top to bottom: pinned tracks first, then a heading for each group with its tracks, one thin
 * line per row.
 *
 *     Steps      ====   pinned: stay in sight while the others scroll under them
 *     Stream 7   ====
 *     ---------------
 *     Process 4711      heading of a group
 *     Thread     ====   a track of two rows
 *                 ==
 */

import type { Track } from "../../api.gen";
import { found, isPinned, onDevice, type TrackChoices } from "./tracks";

export const ROW_PX = 18;
const HEADING_PX = 22;
const QUEUE_PX = 38;

/** Gap between two tracks. */
const GAP_PX = 4;

/** Deeper stacks would push the others out of sight: they are folded until they are clicked. */
const DEEP_ROWS = 20;

/** The rows of a folded track take this much in all, and each is within these bounds. */
const FOLDED_PX = 120;
const THIN_PX = [3, 6] as const;

/** Pinned tracks stay in sight while they take no more than this share of the picture's height. */
const FIXED_SHARE = 0.6;

type Place =
  | { kind: "heading"; text: string }
  | { kind: "track"; track: Track; name: string; rows: number; row_px: number; pinned: boolean }
  | { kind: "queue" };

export type Placed = Place & { top: number; height: number };

export interface Layout {
  places: readonly Placed[];
  height: number;
  /** What is above this height does not scroll. */
  fixed_px: number;
  /** By track id. */
  tracks: ReadonlyMap<number, Placed & { kind: "track" }>;
}

/** `room_px`: the height of the picture. */
export function layoutOf(
  tracks: readonly Track[],
  hasQueue: boolean,
  choices: TrackChoices,
  room_px = Number.POSITIVE_INFINITY,
): Layout {
  const pinned = tracks.filter((track) => isPinned(track, choices));
  const others = tracks.filter((track) => !isPinned(track, choices) && found(track, choices.filter));
  const column = new Column();
  const queueAfter = hasQueue ? (lastOnDevice(pinned) ?? lastOnDevice(others)) : null;
  const put = (track: Track, above: Track | undefined, isPinned: boolean) => {
    column.put({ kind: "track", track, ...shapeOf(track, above, choices, isPinned), pinned: isPinned }, GAP_PX);
    if (track.id === queueAfter) column.put({ kind: "queue" }, GAP_PX);
  };
  for (const [at, track] of pinned.entries()) put(track, pinned[at - 1], true);
  const fixed_px = column.height <= FIXED_SHARE * room_px ? column.height : 0;
  for (const [at, track] of others.entries()) {
    if (track.group !== "" && track.group !== others[at - 1]?.group) column.put({ kind: "heading", text: track.group });
    put(track, others[at - 1], false);
  }
  const { places, height } = column;
  const onTracks = places.flatMap((place) => (place.kind === "track" ? [[place.track.id, place] as const] : []));
  return { places, height, fixed_px, tracks: new Map(onTracks) };
}

class Column {
  readonly places: Placed[] = [];
  height = 0;

  put(place: Place, gap = 0): void {
    const height = heightOf(place);
    this.places.push({ ...place, top: this.height, height });
    this.height += height + gap;
  }
}

function heightOf(place: Place): number {
  if (place.kind === "heading") return HEADING_PX;
  return place.kind === "queue" ? QUEUE_PX : Math.max(ROW_PX, place.rows * place.row_px);
}

const lastOnDevice = (tracks: readonly Track[]): number | null => tracks.findLast(onDevice)?.id ?? null;

function shapeOf(track: Track, above: Track | undefined, { folds }: TrackChoices, pinned: boolean) {
  const rows = Math.max(1, track.rows);
  const folded = rows > 1 && rows > DEEP_ROWS !== folds.has(track.id);
  return { name: nameOf(track, above, pinned), rows, row_px: folded ? foldedPx(rows) : ROW_PX };
}

const foldedPx = (rows: number): number => Math.max(THIN_PX[0], Math.min(THIN_PX[1], Math.floor(FOLDED_PX / rows)));

/** Pinned tracks are shown without the heading of their group: the names of a GPU's tracks therefore include it. */
function nameOf(track: Track, above: Track | undefined, pinned: boolean): string {
  if (track.kind === "calls" && above?.kind === "thread") return "Its runtime calls";
  return pinned && onDevice(track)
    ? `${track.group}, ${track.label[0]!.toLowerCase()}${track.label.slice(1)}`
    : track.label;
}

export const isFolded = ({ row_px }: { row_px: number }): boolean => row_px < ROW_PX;

/** The place at a height, or undefined between and below the places. */
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

/** The top of a track's row; null where there is no such row: -1 is the row of a frame that is folded away. */
export function rowTop(layout: Layout, track: number, row: number): number | null {
  const place = layout.tracks.get(track);
  return place && row >= 0 && row < place.rows ? place.top + row * place.row_px : null;
}

/** The height of the boxes in a row: the rest separates it from the next row. */
export const boxHeight = (row_px: number): number => (row_px >= ROW_PX ? ROW_PX - 2 : row_px - 1);

/**
 * All tracks that any page has named, in the order of the newest page; those that it lacks stay after their neighbour.
 */
export function mergedTracks(before: readonly Track[], fresh: readonly Track[]): readonly Track[] {
  const missing = before.filter((track) => !fresh.some(({ id }) => id === track.id));
  const deepest = fresh.map((track) => ({
    ...track,
    rows: Math.max(track.rows, before.find(({ id }) => id === track.id)?.rows ?? 1),
  }));
  const merged = missing.reduce<Track[]>((all, track) => insertAfter(all, track, before), deepest);
  return sameTracks(before, merged) ? before : merged;
}

function insertAfter(all: Track[], track: Track, earlier: readonly Track[]): Track[] {
  const before = earlier[earlier.findIndex(({ id }) => id === track.id) - 1];
  const at = all.findIndex(({ id }) => id === before?.id) + 1;
  return [...all.slice(0, at), track, ...all.slice(at)];
}

function sameTracks(a: readonly Track[], b: readonly Track[]): boolean {
  return (
    a.length === b.length &&
    a.every((track, at) => track.id === b[at]!.id && track.rows === b[at]!.rows && track.label === b[at]!.label)
  );
}
