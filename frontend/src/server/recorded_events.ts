/** Single events that a report holds of a span: the picture of some steps, and all about the events in it. */

import type { BusyBins, EventDetail, HeldEvents, SearchPage, TimelinePage } from "../api.gen";

/** All that is held, whichever part of it is asked for: a page may hold more, and is asked for once then. */
export const timelineOf = ({ folded, whole }: HeldEvents, fold: boolean): TimelinePage =>
  fold || whole === null ? folded : whole;

/** How busy another range was cannot be told from bins. */
export const busyOf = ({ busy }: HeldEvents, from: number, to: number): BusyBins | undefined =>
  busy.start_ns === from && busy.end_ns === to ? busy : undefined;

export function eventOf(events: HeldEvents, event: number, folded: boolean): EventDetail | undefined {
  const found = events.described.find((each) => each.event === event);
  if (!found || !folded) return found;
  const row = foldedRows(events);
  return {
    ...found,
    row: row.get(event) ?? found.row,
    links: found.links.map((link) => ({ ...link, row: row.get(link.event) ?? link.row })),
  };
}

const foldedRows = ({ moved, moved_row }: HeldEvents): ReadonlyMap<number, number> =>
  new Map(moved.map((event, at) => [event, moved_row[at]!]));

interface Asked {
  words: string;
  track: number | null;
  folded: boolean;
  from: number;
  first?: number;
}

/** Where the hits lie in the recording, in so many bins. */
const BINS = 500;

/** Of the events that are described, all at once: hits and counts are true of what the report holds. */
export function searchIn(events: HeldEvents, { words, track, folded, from, first }: Asked): SearchPage {
  const sought = words.trim().toLowerCase();
  const named = events.described.filter(
    ({ name, short_name }) =>
      sought !== "" && (name.toLowerCase().includes(sought) || short_name.toLowerCase().includes(sought)),
  );
  const found = named
    .filter((each) => track === null || each.track === track)
    .sort((a, b) => a.start_ns - b.start_ns || a.track - b.track || a.row - b.row);
  const following = first ?? found.filter((each) => each.start_ns < from).length;
  const row = folded ? foldedRows(events) : new Map<number, number>();
  const { start_ns, end_ns } = events.busy;
  return {
    count: found.length,
    total_ns: lengthOf(found),
    tracks: tracksOf(named),
    next: Math.min(Math.max(following, 0), found.length),
    first: 0,
    hits: {
      track: found.map((each) => each.track),
      row: found.map((each) => row.get(each.event) ?? each.row),
      start_ns: found.map((each) => each.start_ns),
      length_ns: found.map((each) => each.end_ns - each.start_ns),
      event: found.map((each) => each.event),
      name: found.map((each) => each.name),
    },
    bins_from_ns: start_ns,
    bins_to_ns: end_ns,
    bins: binsOf(found, start_ns, end_ns),
  };
}

const lengthOf = (events: readonly EventDetail[]): number =>
  events.reduce((sum, { start_ns, end_ns }) => sum + end_ns - start_ns, 0);

function tracksOf(events: readonly EventDetail[]): SearchPage["tracks"] {
  const numbers = [...new Set(events.map(({ track }) => track))].sort((a, b) => a - b);
  return numbers.map((track) => {
    const of = events.filter((each) => each.track === track);
    return { track, count: of.length, total_ns: lengthOf(of) };
  });
}

function binsOf(events: readonly EventDetail[], from_ns: number, to_ns: number): number[] {
  const bins = new Array<number>(BINS).fill(0);
  for (const { start_ns } of events) {
    const at = Math.floor(((start_ns - from_ns) * BINS) / (to_ns - from_ns));
    bins[Math.max(0, Math.min(BINS - 1, at))]! += 1;
  }
  return bins;
}
