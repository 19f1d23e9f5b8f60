/**
 * The pages that arrived recently, which of them to draw, and which to request next.
 *
 * A page covers more than the visible range, at a detail that is a power of two: small moves need no request, and going
 * back draws at once. Existing pages are drawn until the finer page arrives, so the picture never goes blank.
 */

import { lengthOf, type TimeRange, touches } from "../../../time_range";
import type { Boxes } from "./boxes";

export interface Page {
  boxes: Boxes;
  /** The detail that was requested; the answer's may be coarser where the trace is dense. */
  asked_ns: number;
  /** Its Python stacks are folded to the user's code. */
  folded: boolean;
}

export interface Wanted extends TimeRange {
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
export function wanted(pages: readonly Page[], visible: TimeRange, ns_per_px: number, whole: TimeRange): Wanted | null {
  const detail_ns = detailFor(ns_per_px);
  if (pages.some((page) => page.asked_ns <= detail_ns && holds(page.boxes.covers, visible, whole))) return null;
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
function unfit({ asked_ns }: Page, detail_ns: number): number {
  const finer = Math.log2(detail_ns / asked_ns);
  return finer >= 0 ? finer : 100 - finer;
}

const common = (a: TimeRange, b: TimeRange): TimeRange => ({
  from: Math.max(a.from, b.from),
  to: Math.min(a.to, b.to),
});

function without(gap: TimeRange, taken: TimeRange): TimeRange[] {
  return [
    { from: gap.from, to: Math.min(gap.to, taken.from) },
    { from: Math.max(gap.from, taken.to), to: gap.to },
  ].filter(({ from, to }) => to > from);
}
