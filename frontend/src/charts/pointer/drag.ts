/** A press that may become a drag, depending on how far the pointer moved. */

import { useRef } from "preact/hooks";

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
