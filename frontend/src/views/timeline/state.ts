/** The state of a span's timeline: the picture, the chosen event, and the search. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Address, rangeKey } from "../../address/keys";
import type { EventLink, PageOf, TimelineResult, TimelineStep } from "../../api.gen";
import { usePalette } from "../../charts/canvas/palette";
import { useHidden } from "../../components/keys";
import { useLatest } from "../../dom/hooks";
import type { Size } from "../../dom/size";
import { scaleFor } from "../../format";
import { rangeOf, showing, type TimeRange, timeScale, visibleOf, withNeighbours } from "../../time_range";
import type { Tab } from "../props";
import { coloursOf } from "./data/boxes";
import { readyDetail, useDetail } from "./data/detail";
import { matcherOf, useFound } from "./data/found";
import { layers as layersOf, usePages } from "./data/pages";
import { stepAt, stepInSight, stepOrWhole, wholeOf } from "./data/steps";
import { layoutOf } from "./layout";
import { openingStep } from "./notice";
import { GUTTER_PX } from "./scene";
import { choicesOf, type TrackChoices } from "./tracks";

/** Which part of the recording is visible, its events in tracks, and how both are drawn. */
export function usePicture({ result, head, shown_step }: PageOf<"timeline">, tab: Tab) {
  const held = useMemo(() => tab.source.held?.(head.id) ?? null, [tab.source, head.id]);
  const opening = openingStep(shown_step, held);
  const range = useVisibleRange(result, tab, opening);
  const { visible, whole, step } = range;
  const [size, resize] = useState<Size>({ width: 0, height: 0 });
  const folded = tab.state.frames !== "all";
  const room = Math.max(0, size.width - GUTTER_PX);
  const loaded = usePages(tab.source, head.id, visible, room, held ? rangeOf(held) : whole, folded);
  const time = timeScale(visible, GUTTER_PX, size.width);
  const layers = useMemo(
    () => layersOf(loaded.pages, visible, time.ns_per_px),
    [loaded.pages, visible, time.ns_per_px],
  );
  const hasQueue = loaded.pages.some(({ boxes }) => boxes.queue !== null);
  const choices = useChoices(tab.state);
  const layout = useMemo(
    () => layoutOf(loaded.tracks, hasQueue, choices, size.height),
    [loaded.tracks, hasQueue, choices, size.height],
  );
  const colours = useMemo(() => coloursOf(loaded.pages), [loaded.pages]);
  const [off, dim] = useHidden();
  const scale = scaleFor(Math.max(Math.abs(visible.from - step.start_ns), Math.abs(visible.to - step.start_ns)), "ns");
  const palette = usePalette();
  const drawn = { visible, step, time, layers, layout, palette, off, scale };
  return { ...range, drawn, size, resize, colours, dim, held, opening, folded, loaded, choices };
}

type Picture = ReturnType<typeof usePicture>;

/** Returns the same object while the address stays the same, so that the layout is not computed again. */
function useChoices(state: Address): TrackChoices {
  const { folds, pins, filter } = choicesOf(state);
  const key = JSON.stringify([[...folds], [...pins], filter]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says it all
  return useMemo(() => ({ folds, pins, filter }), [key]);
}

/** The event that the address names, and functions that choose another: the picture moves to it. */
export function useChosenEvent(span: string, tab: Tab, { folded, whole, setVisible }: Picture) {
  const event = tab.state.event ?? null;
  const detail = useDetail(tab.source, span, event, folded);
  const chosen = readyDetail(detail);
  const [together, setTogether] = useState(1);
  const show = (range: TimeRange) => setVisible((before) => showing(before, range, whole));
  useShownOnce(chosen && rangeOf(chosen), event, show);
  const choose = (number: number | null, of: number) => {
    setTogether(of);
    tab.update({ event: number });
  };
  /** A frame that is folded away has no row: then all frames are unfolded. */
  const goTo = (next: { event: number; row: number }, range: TimeRange) => {
    setTogether(1);
    tab.update({ event: next.event, ...(next.row < 0 ? { frames: "all" } : {}) });
    show(range);
  };
  const go = (link: EventLink) => goTo(link, rangeOf(link));
  return { event, asked: detail, chosen, together, choose, goTo, go };
}

type ChosenEvent = ReturnType<typeof useChosenEvent>;

/** The search by name and its hits; a key goes to the next one. */
export function useNameSearch(
  span: string,
  tab: Tab,
  { folded, visible }: Picture,
  { event, chosen, goTo }: ChosenEvent,
) {
  const field = useRef<HTMLInputElement>(null);
  const words = tab.state.find ?? "";
  const [track, within] = useState<number | null>(null);
  const matches = useMemo(() => matcherOf(words), [words]);
  const found = useFound(
    tab.source,
    span,
    { words, track, folded },
    { event, start_ns: chosen?.event === event ? chosen.start_ns : visible.from },
    (hit) => goTo(hit, hit),
  );
  const hits = useMemo(
    () => found.page && { from: found.page.bins_from_ns, to: found.page.bins_to_ns, counts: found.page.bins },
    [found.page],
  );
  const write = (next: string) => {
    within(null);
    tab.update({ find: next || null });
  };
  const findNext = (pressed: KeyboardEvent) => {
    if (pressed.key !== "F3" || pressed.defaultPrevented) return;
    pressed.preventDefault();
    if (words.trim() === "") field.current?.focus();
    else found.next(pressed.shiftKey);
  };
  return { field, words, track, within, matches, found, hits, write, findNext };
}

/** Browsers limit how often the address may change in a second. */
const REST_MS = 300;

interface VisibleRange {
  whole: TimeRange;
  visible: TimeRange;
  setVisible(next: TimeRange | ((before: TimeRange) => TimeRange)): void;
  step: TimelineStep;
  /** Index of the step; null where there is none. */
  at: number | null;
  reset(): void;
  /** Goes to another step; does nothing beyond the first and the last. */
  goTo(at: number): void;
}

/** `first`: the step to open with where the address names none. */
function useVisibleRange(result: TimelineResult, { state, update }: Tab, first: string | null): VisibleRange {
  const whole = useMemo(() => wholeOf(result), [result]);
  const zoom = visibleOf(state.zoom, whole);
  const zoomKey = zoom && rangeKey(zoom);
  const at = stepAt(result, state, zoom, first);
  const step = useMemo(() => stepOrWhole(result, at), [result, at]);
  const all = useMemo(() => withNeighbours(rangeOf(step), whole), [step, whole]);
  const [visible, setVisible] = useState(zoom ?? all);
  /** What this picture last wrote into the address, which must not be treated as a change. */
  const written = useRef({ zoomKey, step: step.name });

  useEffect(() => {
    if (zoomKey === written.current.zoomKey && step.name === written.current.step) return;
    written.current = { zoomKey, step: step.name };
    setVisible(visibleOf(state.zoom, whole) ?? all);
  }, [zoomKey, step.name, state.zoom, whole, all]);

  useEffect(() => {
    const key = rangeKey(visible) === rangeKey(all) ? null : rangeKey(visible);
    if (key === written.current.zoomKey) return;
    const timer = setTimeout(() => {
      const shown = stepInSight(result, step, visible);
      written.current = { zoomKey: key, step: shown.name };
      update({ zoom: key === null ? null : visible, step: shown.name === "" ? null : shown.name });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [visible, all, result, step, update]);

  const goTo = (other: number) => {
    const chosen = result.steps[other];
    if (chosen) update({ step: chosen.name, zoom: null, event: null });
  };
  return { whole, visible, setVisible, step, at, reset: () => setVisible(all), goTo };
}

/** Shows the event that the address names when the page opens; an event that was clicked is already visible. */
function useShownOnce(range: TimeRange | null, event: number | null, show: (range: TimeRange) => void): void {
  const opened = useRef(event);
  const latest = useLatest(show);
  useEffect(() => {
    if (range === null || opened.current !== event) return;
    opened.current = null;
    latest.current(range);
  }, [range, event, latest]);
}
