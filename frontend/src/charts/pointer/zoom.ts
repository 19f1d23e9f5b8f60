/** Zooms a picture over time: a drag shows the range that it covers, a double click shows everything again. */

import { useState } from "preact/hooks";
import { lengthOf, type TimeRange, type TimeScale, timeScale } from "../../time_range";
import { DRAG_PX, useDrag } from "./drag";
import { pointerX } from "./pointing";

interface ZoomOptions {
  /** The whole range that can be shown. */
  whole: TimeRange;
  /** The range that is shown; null: all of it. */
  zoom: TimeRange | null;
  setZoom(zoom: TimeRange | null): void;
  /** Where the time axis begins and ends in the picture, px. */
  left: number;
  width: number;
  /** The instant under the pointer; null: the pointer left the time axis. */
  hover(ns: number | null, event: PointerEvent | FocusEvent): void;
  /** A press without a drag. */
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
