/**
 * Dragging, and the zoom of a picture over time: a drag shows the range that it covers, a double click everything
 * again.
 */

import { useRef, useState } from "preact/hooks";
import { lengthOf, type TimeRange, type TimeScale, timeScale } from "../../time_range";
import { pointerX } from "./pointing";

/** A movement shorter than this is a press. */
export const DRAG_PX = 4;

interface DragActions<Held> {
  /** What a press takes hold of; null: nothing, and the press is ignored. */
  hold(event: PointerEvent): Held | null;
  drag(held: Held, event: PointerEvent): void;
  /** `dragged`: the pointer moved far enough at some point, wherever it ended. */
  release(held: Held, event: PointerEvent, dragged: boolean): void;
  cancel(): void;
  /** The pointer moves while nothing is held. */
  hover(event: PointerEvent): void;
}

interface Press<Held> {
  held: Held;
  x: number;
  y: number;
  dragged: boolean;
}

/** Pointer handlers for the element on which the user drags. */
export function useDrag<Held>({ hold, drag, release, cancel, hover }: DragActions<Held>) {
  const press = useRef<Press<Held> | null>(null);
  return {
    dragging: () => press.current?.dragged === true,
    handlers: {
      onPointerDown(event: PointerEvent) {
        const held = event.button === 0 ? hold(event) : null;
        if (held === null) return;
        press.current = { held, x: event.clientX, y: event.clientY, dragged: false };
        (event.currentTarget as Element).setPointerCapture(event.pointerId);
      },
      onPointerMove(event: PointerEvent) {
        const now = press.current;
        if (!now) return hover(event);
        now.dragged ||= Math.hypot(event.clientX - now.x, event.clientY - now.y) >= DRAG_PX;
        if (now.dragged) drag(now.held, event);
      },
      onPointerUp(event: PointerEvent) {
        const now = press.current;
        press.current = null;
        if (now) release(now.held, event, now.dragged);
      },
      onPointerCancel() {
        press.current = null;
        cancel();
      },
    },
  };
}

interface ZoomOptions {
  whole: TimeRange;
  /** The range that is shown; null: all of it. */
  zoom: TimeRange | null;
  setZoom(zoom: TimeRange | null): void;
  /** Where the time axis begins and ends in the picture, px. */
  left: number;
  width: number;
  /** The instant under the pointer; null: the pointer left the time axis. */
  hover(ns: number | null, event: PointerEvent | FocusEvent): void;
  press(ns: number, event: PointerEvent): void;
}

/** Arrow keys move by this share of the picture. */
const STRIDE = 0.01;

interface KeyActs {
  /** Null: the reading of instants ends. */
  move(ns: number | null): void;
  /** Without it, Enter and Space are left to other handlers. */
  choose?: ((ns: number) => void) | undefined;
}

export interface TimeZoom {
  visible: TimeRange;
  time: TimeScale;
  /** The range that is being dragged over, px. */
  band: { left: number; width: number } | null;
  reset(): void;
  /**
   * Handles a key, and returns whether it is one of the picture's: arrows, Home and End move, + and - zoom, Enter and
   * Space choose, Esc leaves. `now`: the instant that is being read.
   */
  typed(key: string, now: number, acts: KeyActs): boolean;
  handlers: object;
}

export function useTimeZoom({ whole, zoom, setZoom, left, width, hover, press }: ZoomOptions): TimeZoom {
  const [band, setBand] = useState<TimeZoom["band"]>(null);
  const visible = zoom ?? whole;
  const time = timeScale(visible, left, width);
  const inside = (event: PointerEvent) => Math.max(left, Math.min(width, pointerX(event)));
  const bandTo = (start: number, event: PointerEvent) => {
    const end = inside(event);
    return { left: Math.min(start, end), width: Math.abs(end - start) };
  };
  const leave = (event: PointerEvent | FocusEvent) => hover(null, event);
  const { handlers } = useDrag<number>({
    hold: (event) => (pointerX(event) < left ? null : inside(event)),
    drag: (start, event) => setBand(bandTo(start, event)),
    release(start, event, dragged) {
      const dropped = bandTo(start, event);
      setBand(null);
      if (!dragged || dropped.width < DRAG_PX) return press(time.ns(start), event);
      hover(null, event);
      setZoom({ from: time.ns(dropped.left), to: time.ns(dropped.left + dropped.width) });
    },
    cancel: () => setBand(null),
    hover: (event) => hover(pointerX(event) < left ? null : time.ns(pointerX(event)), event),
  });
  const { from, to } = visible;
  const reset = () => setZoom(null);
  return {
    visible,
    time,
    band,
    reset,
    typed(key, now, { move, choose }) {
      const [stride, quarter] = [STRIDE * lengthOf(visible), lengthOf(visible) / 4];
      const next = { ArrowRight: now + stride, ArrowLeft: now - stride, Home: from, End: to }[key];
      if (next !== undefined) move(Math.max(from, Math.min(to - 1, next)));
      else if (choose && (key === "Enter" || key === " ")) choose(now);
      else if (key === "+") setZoom({ from: Math.max(from, now - quarter), to: Math.min(to, now + quarter) });
      else if (key === "-") reset();
      else if (key === "Escape") {
        move(null);
        reset();
      } else return false;
      return true;
    },
    handlers: { ...handlers, onPointerLeave: leave, onBlur: leave, onDblClick: reset },
  };
}
