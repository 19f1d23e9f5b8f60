/**
 * Loads the pages for the visible range: one request at a time, at a limited rate, and outdated requests are aborted.
 */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Problem, TimelinePage, Track, Waiting } from "../../../api.gen";
import { useLatest } from "../../../dom/hooks";
import type { Answer } from "../../../server/client";
import { same } from "../../../server/use_answer";
import { browser, isHidden, retryPause, type Trouble } from "../../../server/watch";
import { lengthOf, type TimeRange } from "../../../time_range";
import type { EventSource } from "../../props";
import { mergedTracks } from "../layout";
import { boxesOf } from "./boxes";
import { cachedPages, type Page, type Wanted, wanted } from "./pages";

/** The least time between requests while the picture moves. */
const PACE_MS = 60;

/** The pause while the trace is being read again, and while the tab is hidden, when nothing is requested. */
const WAITING_MS = 700;

/** An answer with more boxes is prepared in a task of its own, because parsing it already took one. */
const AT_ONCE = 4_000;

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

export interface Loaded {
  pages: readonly Page[];
  tracks: readonly Track[];
  waiting: Waiting | null;
  problem: Problem | null;
  /** Why the newest request has no answer. */
  gone: Trouble | null;
  /** Sends the request at once. */
  again(): void;
}

type State = Omit<Loaded, "again">;

const NOTHING: State = { pages: [], tracks: [], waiting: null, problem: null, gone: null };

/** A part of the span, with its stacks folded or not. */
type Part = Wanted & { folded: boolean };

interface Asking {
  wanted: Part;
  abort: AbortController;
}

/** `width`: of the picture without the names, px; 0 while it is not known. */
export function usePages(
  events: EventSource,
  span: string,
  visible: TimeRange,
  width: number,
  whole: TimeRange,
  folded: boolean,
): Loaded {
  const [state, setState] = useState(NOTHING);
  const asking = useRef<Asking | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const unanswered = useRef(0);
  const pages = state.pages.filter((page) => page.folded === folded);
  const part = width > 0 && !state.problem ? wanted(pages, visible, lengthOf(visible) / width, whole) : null;
  const next = part && { ...part, folded };

  const ask = useLatest(async () => {
    clearTimeout(timer.current);
    timer.current = undefined;
    if (isHidden()) return later(WAITING_MS);
    if (next === null || (asking.current && keyOf(asking.current.wanted) === keyOf(next))) return;
    asking.current?.abort.abort();
    const mine = { wanted: next, abort: new AbortController() };
    asking.current = mine;
    const answer = await events.timeline(span, next, mine.abort.signal);
    if (answer.kind === "ready" && answer.value.boxes.event.length > AT_ONCE) await pause();
    if (asking.current !== mine) return;
    asking.current = null;
    unanswered.current = answer.kind === "gone" ? unanswered.current + 1 : 0;
    const pause_ms = unanswered.current > 0 ? retryPause(unanswered.current) : WAITING_MS;
    setState((before) => answered(before, next, answer, Date.now() + pause_ms));
    if (answer.kind === "waiting" || answer.kind === "gone") later(pause_ms);
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
  useEffect(() => browser.listen(() => void (!isHidden() && timer.current !== undefined && ask.current())), [ask]);
  return { ...state, again: () => (state.gone ? void ask.current() : setState({ ...state, problem: null })) };
}

const keyOf = ({ from, to, detail_ns, folded }: Part): string => `${from} ${to} ${detail_ns} ${folded}`;

/**
 * A failure keeps what was there before: the picture stays, only finer pages do not arrive. Where no answer came,
 * `retry_ms` is the time of the next request.
 */
export function answered(before: State, asked: Part, answer: Answer<TimelinePage>, retry_ms: number): State {
  switch (answer.kind) {
    case "ready": {
      const { folded } = asked;
      const page: Page = { boxes: boxesOf(answer.value), asked_ns: asked.detail_ns, folded };
      const alike = before.pages.every((other) => other.folded === folded) ? before : NOTHING; // the rows differ
      return {
        ...NOTHING,
        pages: cachedPages(alike.pages, page),
        tracks: mergedTracks(alike.tracks, answer.value.tracks),
      };
    }
    case "waiting":
      if (before.gone === null && same(before.waiting, answer.value)) return before;
      return { ...before, waiting: answer.value, problem: null, gone: null };
    case "problem":
      return { ...before, waiting: null, problem: answer.value, gone: null };
    case "gone":
      return { ...before, gone: { problem: answer.value, retry_ms } };
    default:
      return answer satisfies never;
  }
}
