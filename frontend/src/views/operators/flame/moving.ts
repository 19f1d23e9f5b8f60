/** The picture moves from what it showed to what is zoomed into, so that the eye keeps hold of it. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLatest } from "../../../dom/latest";
import { type Layout, type Window, windowOf } from "./layout";

const MOVE_MS = 160;

/** What the user's system asks for. */
const isStill = (): boolean => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

interface Moving {
  layout: Layout;
  shown: Window;
}

/** target: what is zoomed into; shown: what the picture shows now, the same once it has come to rest. */
export function useMoving(layout: Layout, zoomed: number): { target: Window; shown: Window } {
  const target = useMemo(() => windowOf(layout, zoomed), [layout, zoomed]);
  const [moving, setMoving] = useState<Moving | null>(null);
  const latest = useLatest(moving);
  const rested = useRef<Moving>({ layout, shown: target });
  useLayoutEffect(() => {
    const start = latest.current ?? rested.current;
    rested.current = { layout, shown: target };
    if (start.layout !== layout || start.shown === target || isStill()) return setMoving(null);
    setMoving(start);
    return onFrames((part) =>
      setMoving(part < 1 ? { layout, shown: between(start.shown, target, part * (2 - part)) } : null),
    );
  }, [layout, target, latest]);
  return { target, shown: moving?.layout === layout ? moving.shown : target };
}

/** Calls for each frame of the browser with the part of the time that is over, at last with 1. */
function onFrames(show: (part: number) => void): () => void {
  const began = performance.now();
  let frame = 0;
  const step = (now: number) => {
    const part = Math.max(0, Math.min(1, (now - began) / MOVE_MS));
    if (part < 1) frame = requestAnimationFrame(step);
    show(part);
  };
  frame = requestAnimationFrame(step);
  return () => cancelAnimationFrame(frame);
}

/** Grows by equal factors in equal times, and around one point. */
export function between(start: Window, target: Window, part: number): Window {
  const [from, to] = [start.high - start.low, target.high - target.low];
  if (Math.abs(from - to) < 1e-9 * Math.max(from, to)) {
    const low = start.low + part * (target.low - start.low);
    return { low, high: low + to };
  }
  const wide = from * (to / from) ** part;
  const low = start.low + ((target.low - start.low) * (wide - from)) / (to - from);
  return { low, high: low + wide };
}
