/** Pointer and wheel: dragging the tracks moves, dragging the axis marks a stretch to zoom to, a press chooses. */

import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Deeds } from "./act";
import { turnOf } from "./keys";
import { areaAt, boxUnder } from "./pointed";
import { GUTTER_PX, type Scene } from "./scene";
import { sameBox } from "./search";
import { lengthOf, panned, type Stretch, within, zoomed } from "./stretch";

/** A press that moves less is a click. */
const CLICK_PX = 4;

type Drag =
  | { kind: "pan"; x: number; y: number; seen: Stretch; scroll: number; moved: boolean }
  | { kind: "band"; from: number };

interface Spot {
  x: number;
  y: number;
}

/** What the pointer is about, for the picture to show. */
export interface Pointer {
  at: Spot | null;
  /** The stretch that is being marked. */
  band: Stretch | null;
  dragging: boolean;
}

export function usePointer() {
  const [at, setAt] = useState<Spot | null>(null);
  const [band, setBand] = useState<Stretch | null>(null);
  const drag = useRef<Drag | null>(null);
  return { pointer: { at, band, dragging: drag.current !== null }, hands: { setAt, setBand, drag } };
}

type Hands = ReturnType<typeof usePointer>["hands"];

/** Handlers for the stage, of the scene as it is drawn now. */
export function gestures(
  scroller: RefObject<HTMLDivElement | null>,
  scene: Scene,
  whole: Stretch,
  deeds: Deeds,
  { setAt, setBand, drag }: Hands,
) {
  const { ruler, seen, scroll, width } = scene;
  const spot = (event: MouseEvent): Spot => {
    const frame = scroller.current!.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  };
  const timeAt = (x: number) => ruler.ns(Math.max(GUTTER_PX, Math.min(width, x)));
  const drop = () => {
    drag.current = null;
    setBand(null);
  };
  return {
    onPointerDown(event: PointerEvent) {
      const { x, y } = spot(event);
      if (event.button !== 0 || x > width) return; // the scroll bar is the browser's
      const area = areaAt(scene, x, y);
      if (area.kind === "name")
        return area.place.kind === "track" && area.place.track.rows > 1 ? deeds.fold(area.place.track.id) : undefined;
      drag.current =
        area.kind === "axis" ? { kind: "band", from: timeAt(x) } : { kind: "pan", x, y, seen, scroll, moved: false };
      scroller.current!.setPointerCapture(event.pointerId);
    },
    onPointerMove(event: PointerEvent) {
      const { x, y } = spot(event);
      const held = drag.current;
      setAt({ x, y });
      if (!held) {
        const box = boxUnder(scene, x, y);
        if (!sameBox(box, scene.pointed)) deeds.point(box);
      } else if (held.kind === "band") {
        setBand({ from: Math.min(held.from, timeAt(x)), to: Math.max(held.from, timeAt(x)) });
      } else if (held.moved || Math.hypot(x - held.x, y - held.y) >= CLICK_PX) {
        held.moved = true;
        deeds.setSeen(() => panned(held.seen, ((held.x - x) * lengthOf(held.seen)) / (width - GUTTER_PX), whole));
        scroller.current!.scrollTop = held.scroll + held.y - y;
      }
    },
    onPointerUp(event: PointerEvent) {
      const held = drag.current;
      const { band } = scene;
      const { x, y } = spot(event);
      drop();
      if (held?.kind === "band" && band && lengthOf(band) / ruler.ns_per_px >= CLICK_PX)
        deeds.setSeen(() => within(band, whole));
      else if (held?.kind === "pan" && !held.moved) deeds.choose(boxUnder(scene, x, y));
    },
    onPointerCancel: drop,
    onPointerLeave() {
      setAt(null);
      deeds.point(null);
    },
    onDblClick: (event: MouseEvent) => spot(event).x >= GUTTER_PX && deeds.reset(),
    onWheel(event: WheelEvent) {
      const turned = turnOf(event);
      if (!turned) return;
      event.preventDefault();
      if (turned.kind === "zoom")
        deeds.setSeen((before) => zoomed(before, timeAt(spot(event).x), turned.factor, whole));
      else deeds.setSeen((before) => panned(before, turned.px * ruler.ns_per_px, whole));
    },
  };
}
