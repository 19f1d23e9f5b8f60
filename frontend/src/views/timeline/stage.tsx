/**
 * The picture itself: a canvas that stays in place while its tracks scroll under it, and what pointer, wheel and keys
 * do to it.
 */

import { sum } from "d3-array";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Sheet } from "../../charts/canvas/canvas";
import { Tip } from "../../charts/pointer/tip";
import { type Size, useSize } from "../../dom/size";
import { type TimeRange, touches } from "../../time_range";
import { type Actions, commandOf, run } from "./input/commands";
import { headTip, tipOf, tipSpot, useGestures, usePointer } from "./input/gestures";
import { type Layout, ROW_PX, rowTop } from "./layout";
import { groundOf, overOf, paintOver, paintScene } from "./paint/paint";
import { AXIS_PX, GUTTER_PX, type Scene } from "./scene";
import { spokenBox, spokenHead } from "./spoken";

/** Everything except what the stage itself determines. */
type Shown = Omit<Scene, "scroll" | "pointer_ns" | "band" | "width" | "height">;

interface StageProps {
  label: string;
  shown: Shown;
  whole: TimeRange;
  size: Size;
  resize(size: Size): void;
  scroller: RefObject<HTMLDivElement | null>;
  actions: Actions;
}

export function Stage({ label, shown, whole, size, resize, scroller, actions }: StageProps) {
  const [scroll, setScroll] = useState(0);
  const [message, setSaid] = useState("");
  const pointer = usePointer();
  const { spot: at, band } = pointer;
  const { time, layout, layers, pointed } = shown;
  const scene: Scene = { ...shown, ...size, scroll, band, pointer_ns: at && at.x >= GUTTER_PX ? time.ns(at.x) : null };
  const { dragging, handlers } = useGestures(scroller, scene, whole, actions, pointer);
  useSize(scroller, resize);
  useRoom(scroller);
  useSelectionInView(scroller, scene);
  const type = (event: KeyboardEvent) => {
    const command = commandOf(event);
    if (!command) return;
    event.preventDefault();
    setSaid(command.kind === "pin" ? spokenPin(scene) : "");
    run(command, scene, whole, actions);
  };
  const inPanel = pointed !== null && pointed.event === shown.chosen?.event; // the panel shows everything
  const boxTip =
    pointed && !inPanel && !band && touches(pointed, shown.visible)
      ? tipOf(pointed, layout, shown.step.start_ns)
      : null;
  const tip = boxTip ?? (at && shown.head !== null ? headTip(shown.head, layout) : null);
  const spot = tip && (at ? besidePointer(at) : tipSpot(scene, pointed!));
  return (
    <>
      <div
        class="stage"
        ref={scroller}
        role="application"
        aria-roledescription="timeline"
        aria-label={label}
        tabIndex={0}
        data-takes-keys
        data-boxes={sum(layers, ({ boxes }) => boxes.from.length)}
        onScroll={() => setScroll(scroller.current!.scrollTop)}
        onKeyDown={type}
        {...handlers}
      >
        <div class="canvases" style={{ height: `${size.height}px` }}>
          <Sheet {...size} paint={(pen) => paintScene(pen, scene)} of={groundOf(scene)} />
          <Sheet {...size} paint={(pen) => paintOver(pen, scene)} of={[...groundOf(scene), ...overOf(scene)]} />
        </div>
        <div style={{ height: `${Math.max(0, layout.height + AXIS_PX - size.height)}px` }} />
      </div>
      <Tip
        content={dragging() ? null : tip}
        x={spot?.x ?? 0}
        y={spot?.y ?? 0}
        width={size.width}
        above={(spot?.y ?? 0) - 2 * POINTER_PX}
        spoken={false}
      />
      <span class="visually-hidden" role="status">
        {at === null && (message || spoken(scene))}
      </span>
    </>
  );
}

/** Announces what the keys selected; what the pointer is on is visible. */
function spoken({ pointed, head, layout, steps }: Scene): string {
  if (pointed) return spokenBox(pointed, layout, steps);
  return head === null ? "" : spokenHead(head, layout);
}

/** Announces whether the selected track is now pinned. */
function spokenPin({ pointed, head, layout }: Scene): string {
  const place = layout.tracks.get(pointed?.track ?? head ?? -1);
  return place ? `Track ${place.track.label} ${place.pinned ? "unpinned" : "pinned"}` : "";
}

/** The distance from the pointer's tip to its bottom edge. */
const POINTER_PX = 14;

/** To the right of the names: the tip of one name must not hide the others. */
const besidePointer = ({ x, y }: { x: number; y: number }) => ({ x: Math.max(GUTTER_PX, x), y: y + POINTER_PX });

/** Scrolls to the row of the chosen event, or of the event that the keys went to. */
function useSelectionInView(
  scroller: RefObject<HTMLDivElement | null>,
  { layout, chosen, pointed, head, pointer_ns }: Scene,
) {
  const byKeys = pointer_ns === null ? pointed : null;
  const { track, row } = chosen ?? NOWHERE;
  const { track: keyTrack, row: keyRow } =
    byKeys ?? (pointer_ns === null && head !== null ? { track: head, row: 0 } : NOWHERE);
  useLayoutEffect(() => scrollTo(scroller.current, layout, track, row), [scroller, layout, track, row]);
  useEffect(() => scrollTo(scroller.current, layout, keyTrack, keyRow), [scroller, layout, keyTrack, keyRow]);
}

/** Sets how far down the page the picture begins, so that it ends with the window whatever is above it. */
function useRoom(scroller: RefObject<HTMLDivElement | null>) {
  useLayoutEffect(() => {
    const box = scroller.current!;
    const fit = () => box.parentElement?.style.setProperty("--above", `${topIn(box)}px`);
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [scroller]);
}

/** The distance from the top of the page, independent of scrolling. */
function topIn(element: HTMLElement): number {
  let top = 0;
  for (let at: Element | null = element; at instanceof HTMLElement; at = at.offsetParent) top += at.offsetTop;
  return top;
}

const NOWHERE = { track: -1, row: -1 };

function scrollTo(box: HTMLElement | null, layout: Layout, track: number, row: number): void {
  const top = rowTop(layout, track, row);
  if (top === null || !box || top < layout.fixed_px) return;
  const room = box.clientHeight - AXIS_PX - ROW_PX;
  if (top < box.scrollTop + layout.fixed_px) box.scrollTop = top - layout.fixed_px - ROW_PX;
  else if (top > box.scrollTop + room) box.scrollTop = top - room + ROW_PX;
}
