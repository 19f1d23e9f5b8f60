/** Dragging a column to another place: it starts after a few pixels, so that a press stays a press. */

import { useRef, useState } from "preact/hooks";
import { nearest, pointerX } from "../../../charts/pointer/pointing";

/** A hand that presses moves by less, px. */
const STARTS_PX = 6;

export interface ColumnDrag {
  /** The column that is dragged, the place that it would get, and how far it was dragged, px; null: none is. */
  dragged: { from: number; to: number; by: number } | null;
  /** Handlers of the picture. */
  handlers: {
    onPointerDown(event: PointerEvent): void;
    onPointerMove(event: PointerEvent): void;
    onPointerUp(event: PointerEvent): void;
    onPointerCancel(): void;
  };
  /** Whether the click that just came ended a drag, and is no press. */
  ended(): boolean;
}

/** middles: of the columns, px, ascending; no move: nothing is dragged. */
export function useColumnDrag(
  middles: readonly number[],
  move: ((from: number, to: number) => void) | undefined,
): ColumnDrag {
  const pressed = useRef<{ at: number; x: number } | null>(null);
  const click = useRef(false);
  const [dragged, setDragged] = useState<ColumnDrag["dragged"]>(null);
  const stop = () => {
    pressed.current = null;
    setDragged(null);
  };
  return {
    dragged,
    handlers: {
      onPointerDown(event) {
        const at = nearest(middles, pointerX(event));
        click.current = false;
        if (move && event.button === 0 && at !== null) pressed.current = { at, x: pointerX(event) };
      },
      onPointerMove(event) {
        const from = pressed.current;
        if (from === null) return;
        const by = pointerX(event) - from.x;
        if (dragged === null && Math.abs(by) < STARTS_PX) return;
        if (dragged === null) (event.currentTarget as Element).setPointerCapture?.(event.pointerId);
        setDragged({ from: from.at, to: nearest(middles, pointerX(event))!, by });
      },
      onPointerUp() {
        click.current = dragged !== null;
        if (dragged !== null && dragged.to !== dragged.from) move?.(dragged.from, dragged.to);
        stop();
      },
      onPointerCancel: stop,
    },
    ended() {
      const was = click.current;
      click.current = false;
      return was;
    },
  };
}
