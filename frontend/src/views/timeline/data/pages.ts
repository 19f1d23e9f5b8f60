/**
 * The pages that arrived recently, which of them to draw, which to request next, and their loading: one request at a
 * time, at a limited rate, and outdated requests are aborted.
 *
 * A page covers more than the visible range, at a detail that is a power of two: small moves need no request, and going
 * back draws at once. Existing pages are drawn until the finer page arrives, so the picture never goes blank.
 */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Problem, TimelinePage, Track, Waiting } from "../../../api.gen";
import { useLatest } from "../../../dom/hooks";
import type { Answer, ViewSource } from "../../../server/client";
import { same } from "../../../server/use_answer";
import { browser, isHidden, retryPause, type Trouble } from "../../../server/watch";
import { lengthOf, type TimeRange, touches } from "../../../time_range";
import { mergedTracks } from "../layout";
import { type Boxes, boxesOf } from "./boxes";

export interface Page {
  boxes: Boxes;
  /** The detail that was requested; the answer's may be coarser where the trace is dense. */
  detail_ns: number;
  /** Its Python stacks are folded to the user's code. */
  folded: boolean;
}

interface Wanted extends TimeRange {
  detail_ns: number;
}

/** A page and the range in which it is drawn. */
export interface Layer extends TimeRange {
  boxes: Boxes;
}

/** The most pages that are kept: half an hour of navigating a trace, some tens of MB at most. */
const MAX_PAGES = 24;

/** How much is requested on either side of the visible range, as a share of its length. */
const BESIDE = 0.5;

/** The borders of pages are on a grid of so many pixels, so that nearby views request the same pages. */
const GRID_PX = 256;

export const detailFor = (ns_per_px: number): number => 2 ** Math.max(0, Math.floor(Math.log2(ns_per_px)));

/** The page to request, or null where a kept page contains the visible range in enough detail. */
export function nextPart(
  pages: readonly Page[],
  visible: TimeRange,
  ns_per_px: number,
  whole: TimeRange,
): Wanted | null {
  const detail_ns = detailFor(ns_per_px);
  if (pages.some((page) => page.detail_ns <= detail_ns && holds(page.boxes.covers, visible, whole))) return null;
  const grid = detail_ns * GRID_PX;
  const beside = BESIDE * lengthOf(visible);
  const from = Math.floor((visible.from - beside) / grid) * grid;
  const to = Math.ceil((visible.to + beside) / grid) * grid;
  return { from: Math.max(Math.floor(whole.from), from), to: Math.min(Math.ceil(whole.to), to), detail_ns };
}

function holds(page: TimeRange, visible: TimeRange, whole: TimeRange): boolean {
  return page.from <= Math.max(visible.from, whole.from) && page.to >= Math.min(visible.to, whole.to);
}

/** The pages with the newest last; the one unused for the longest time is dropped. */
export function cachedPages(pages: readonly Page[], page: Page): Page[] {
  return [...pages.filter((other) => other !== page), page].slice(-MAX_PAGES);
}

/** What to draw where: each visible instant once, from the page whose detail suits it best. */
export function layers(pages: readonly Page[], visible: TimeRange, ns_per_px: number): Layer[] {
  const detail_ns = detailFor(ns_per_px);
  const found: Layer[] = [];
  let open: TimeRange[] = [{ from: visible.from, to: visible.to }];
  const order = [...pages].reverse().sort((a, b) => unfit(a, detail_ns) - unfit(b, detail_ns));
  for (const { boxes } of order) {
    if (open.length === 0) break;
    found.push(
      ...open.filter((gap) => touches(gap, boxes.covers)).map((gap) => ({ ...common(gap, boxes.covers), boxes })),
    );
    open = open.flatMap((gap) => without(gap, boxes.covers));
  }
  return found.sort((a, b) => a.from - b.from);
}

/** Finer pages show everything that is needed, a coarser one does not: it comes last. */
function unfit(page: Page, detail_ns: number): number {
  const finer = Math.log2(detail_ns / page.detail_ns);
  return finer >= 0 ? finer : 100 - finer;
}

const common = (a: TimeRange, b: TimeRange): TimeRange => ({
  from: Math.max(a.from, b.from),
  to: Math.min(a.to, b.to),
});

function without(gap: TimeRange, covered: TimeRange): TimeRange[] {
  return [
    { from: gap.from, to: Math.min(gap.to, covered.from) },
    { from: Math.max(gap.from, covered.to), to: gap.to },
  ].filter(({ from, to }) => to > from);
}

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
  gone: Trouble | null;
  again(): void;
}

type State = Omit<Loaded, "again">;

const NOTHING: State = { pages: [], tracks: [], waiting: null, problem: null, gone: null };

type Part = Wanted & { folded: boolean };

interface Asking {
  wanted: Part;
  abort: AbortController;
}

/** `width`: of the picture without the names, px; 0 while it is not known. */
export function usePages(
  events: ViewSource,
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
  const part = width > 0 && !state.problem ? nextPart(pages, visible, lengthOf(visible) / width, whole) : null;
  const next = part && { ...part, folded };

  const ask = useLatest(async () => {
    clearTimeout(timer.current);
    timer.current = undefined;
    if (isHidden()) return later(WAITING_MS);
    if (next === null || (asking.current && keyOf(asking.current.wanted) === keyOf(next))) return;
    asking.current?.abort.abort();
    const own = { wanted: next, abort: new AbortController() };
    asking.current = own;
    const answer = await events.timeline(span, next, own.abort.signal);
    if (answer.kind === "ready" && answer.value.boxes.event.length > AT_ONCE) await pause();
    if (asking.current !== own) return;
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
export function answered(before: State, part: Part, answer: Answer<TimelinePage>, retry_ms: number): State {
  switch (answer.kind) {
    case "ready": {
      const { folded } = part;
      const page: Page = { boxes: boxesOf(answer.value), detail_ns: part.detail_ns, folded };
      const same = before.pages.every((other) => other.folded === folded) ? before : NOTHING; // the rows differ
      return {
        ...NOTHING,
        pages: cachedPages(same.pages, page),
        tracks: mergedTracks(same.tracks, answer.value.tracks),
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
