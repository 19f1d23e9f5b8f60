/**
 * Brings the pages of what is visible: one request at a time, at most one in a short while, outdated ones abandoned.
 */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Problem, TimelinePage, Track, Waiting } from "../../../api.gen";
import { useLatest } from "../../../dom/latest";
import type { Answer } from "../../../server/client";
import { isHidden } from "../../../server/shown";
import { lengthOf, type TimeRange } from "../../../time_range";
import type { EventSource } from "../../props";
import { mergedTracks } from "../layout";
import { boxesOf } from "./boxes";
import { cachedPages, type Page, type Wanted, wanted } from "./pages";

/** While the picture moves, so often. */
const PACE_MS = 60;

/** While the trace is read again, and while nobody answers. */
const WAITING_MS = 700;
const GONE_MS = 2_000;

export interface Loaded {
  pages: readonly Page[];
  tracks: readonly Track[];
  waiting: Waiting | null;
  problem: Problem | null;
  gone: boolean;
  /** Ask again after a problem. */
  again(): void;
}

type State = Omit<Loaded, "again">;

const NOTHING: State = { pages: [], tracks: [], waiting: null, problem: null, gone: false };

interface Asking {
  wanted: Wanted;
  abort: AbortController;
}

/** `width`: of the picture without names, px; 0 while it is not known. */
export function usePages(
  events: EventSource,
  span: string,
  visible: TimeRange,
  width: number,
  whole: TimeRange,
): Loaded {
  const [state, setState] = useState(NOTHING);
  const asking = useRef<Asking | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const next = width > 0 && !state.problem ? wanted(state.pages, visible, lengthOf(visible) / width, whole) : null;

  const ask = useLatest(async () => {
    timer.current = undefined;
    if (isHidden()) return later(WAITING_MS);
    if (next === null || (asking.current && keyOf(asking.current.wanted) === keyOf(next))) return;
    asking.current?.abort.abort();
    const mine = { wanted: next, abort: new AbortController() };
    asking.current = mine;
    const answer = await events.timeline(span, next, mine.abort.signal);
    if (asking.current !== mine) return;
    asking.current = null;
    setState((before) => answered(before, next, answer));
    if (answer.kind === "waiting" || answer.kind === "gone") later(answer.kind === "gone" ? GONE_MS : WAITING_MS);
  });
  const later = useCallback(
    (pause_ms: number) => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => void ask.current(), pause_ms);
    },
    [ask],
  );

  const nextKey = next && keyOf(next);
  const first = state.pages.length === 0;
  useEffect(() => {
    if (nextKey === null || timer.current !== undefined) return;
    if (first && !asking.current) void ask.current();
    else later(PACE_MS);
  }, [nextKey, first, ask, later]);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      asking.current?.abort.abort();
      asking.current = null;
    },
    [],
  );
  return { ...state, again: () => setState({ ...state, problem: null }) };
}

const keyOf = ({ from, to, detail_ns }: Wanted): string => `${from} ${to} ${detail_ns}`;

/** A failure keeps what was there before: the picture stays, only finer pages do not come. */
export function answered(before: State, asked: Wanted, answer: Answer<TimelinePage>): State {
  switch (answer.kind) {
    case "ready": {
      const page: Page = { boxes: boxesOf(answer.value), asked_ns: asked.detail_ns };
      return {
        ...NOTHING,
        pages: cachedPages(before.pages, page),
        tracks: mergedTracks(before.tracks, answer.value.tracks),
      };
    }
    case "waiting":
      return { ...before, waiting: answer.value, problem: null, gone: false };
    case "problem":
      return { ...before, waiting: null, problem: answer.value, gone: false };
    case "gone":
      return { ...before, gone: true };
    default:
      return answer satisfies never;
  }
}
