/** What a search finds in the whole span, and how to go from hit to hit: the server counts, the picture follows. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { SearchPage } from "../../../api.gen";
import { cached } from "../../../cached";
import { lineName } from "../../../code_line";
import { useLatest } from "../../../dom/hooks";
import type { ViewSource } from "../../../server/client";
import { untilReady } from "../../../server/requested";
import type { TimeRange } from "../../../time_range";
import type { Box, Boxes } from "./boxes";

/** Letters typed in quick succession are one search. */
const REST_MS = 150;

interface Hit extends TimeRange {
  event: number;
  track: number;
  /** -1: a Python frame that is folded away. */
  row: number;
  name: string;
}

/** What to search for; track null: on all tracks. */
interface Sought {
  words: string;
  track: number | null;
  folded: boolean;
}

/** Where to continue from: the chosen event, else the beginning of the visible range. */
interface Here {
  event: number | null;
  start_ns: number;
}

export interface Found {
  /** Null: there is no search, or no answer yet. */
  page: SearchPage | null;
  /** The index of the chosen hit, from 0 in time order; null: the user has not gone to any hit yet. */
  at: number | null;
  next(backwards: boolean): void;
}

export function useFound(
  events: Pick<ViewSource, "search">,
  span: string,
  { words, track, folded }: Sought,
  here: Here,
  go: (hit: Hit) => void,
): Found {
  const sought = words.trim();
  const key = JSON.stringify([sought, track]);
  const [answer, setAnswer] = useState<{ key: string; page: SearchPage } | null>(null);
  const [gone, setGone] = useState<{ key: string; event: number; number: number } | null>(null);
  const latest = useLatest({ here, go });
  const going = useRef<AbortController | null>(null);
  const ask = (query: { from: number; first?: number }, signal: AbortSignal) =>
    events.search(span, { words: sought, track, folded, ...query }, signal);
  const asking = useLatest(ask);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key holds all else that is sought
  useEffect(() => {
    going.current?.abort();
    if (sought === "") return setAnswer(null);
    return untilReady(
      (signal) => asking.current({ from: Math.floor(latest.current.here.start_ns) }, signal),
      (answer) => answer.kind === "ready" && setAnswer({ key, page: answer.value }), // the picture shows what is wrong
      { rest_ms: REST_MS },
    );
  }, [events, span, key, folded]);
  useEffect(() => () => going.current?.abort(), []);

  const page = answer?.key === key ? answer.page : null;
  const at = page && gone?.key === key && gone.event === here.event ? gone.number : null;

  const next = async (backwards: boolean) => {
    if (sought === "") return;
    going.current?.abort();
    going.current = new AbortController();
    const { signal } = going.current;
    const requestPage = async (query: { from: number; first?: number }) => {
      const answer = await ask(query, signal);
      return signal.aborted || answer.kind !== "ready" ? null : answer.value;
    };
    const from = Math.floor(here.start_ns);
    const firstPage = at === null ? await requestPage({ from }) : page;
    if (!firstPage || firstPage.count === 0) return firstPage && setAnswer({ key, page: firstPage });
    const number = at === null ? firstOf(firstPage, here, backwards) : at + (backwards ? -1 : 1);
    const wrapped = (number + firstPage.count) % firstPage.count;
    const holding = hitOf(firstPage, wrapped) ? firstPage : await requestPage({ from, first: wrapped });
    const hit = holding && hitOf(holding, wrapped);
    if (!hit) return;
    setAnswer({ key, page: holding });
    setGone({ key, event: hit.event, number: wrapped });
    latest.current.go(hit);
  };
  return { page, at, next: (backwards) => void next(backwards) };
}

/** The first hit in this direction; the chosen event itself does not count. */
function firstOf(page: SearchPage, here: Here, backwards: boolean): number {
  if (backwards) return page.next - 1;
  return hitOf(page, page.next)?.event === here.event ? page.next + 1 : page.next;
}

/** The hit with that index, where the page contains it. */
function hitOf({ first, hits }: SearchPage, number: number): Hit | null {
  const at = number - first;
  if (at < 0 || at >= hits.event.length) return null;
  const from = hits.start_ns[at]!;
  return {
    from,
    to: from + hits.length_ns[at]!,
    event: hits.event[at]!,
    track: hits.track[at]!,
    row: hits.row[at]!,
    name: lineName(hits.name[at]!),
  };
}

/** For each name of a page, 1 where it matches the search. */
export type Matcher = (boxes: Boxes) => Uint8Array;

/** Null where there is no search. Each page's names are scanned once, in the same way as the server scans its own. */
export function matcherOf(text: string): Matcher | null {
  const sought = text.trim().toLowerCase();
  if (sought === "") return null;
  const masks = new WeakMap<Boxes, Uint8Array>();
  const holdsIt = (name: string) => name.toLowerCase().includes(sought);
  return (boxes) =>
    cached(masks, boxes, () =>
      Uint8Array.from(boxes.names, (name, at) => Number(holdsIt(name) || holdsIt(boxes.fullNames[at]!))),
    );
}

/** Whether two boxes are at the same place, whichever pages they are from. */
export const sameBox = (a: Box | null, b: Box | null): boolean =>
  a === b ||
  (a !== null && b !== null && a.track === b.track && a.row === b.row && a.event === b.event && a.from === b.from);
