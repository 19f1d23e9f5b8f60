/**
 * Pointer and wheel: dragging the tracks moves the picture, with Shift it measures; dragging on the axis marks a range
 * to zoom to, a click chooses an event.
 */

import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import { DRAG_PX, useDrag } from "../../../charts/pointer/zoom";
import { lengthOf, panned, type TimeRange, within, zoomed } from "../../../time_range";
import type { Box } from "../data/boxes";
import { sameBox } from "../data/found";
import { rangeBetween, snapped } from "../range";
import { GUTTER_PX, PIN_PX, type Scene } from "../scene";
import { type Actions, wheelCommand } from "./commands";
import { areaAt, boxUnder } from "./hit";
import { foldable } from "./neighbours";

interface Spot {
  x: number;
  y: number;
}

/** The position of the pointer, for the picture to show. */
interface Pointer {
  spot: Spot | null;
  /** The range that is being marked on the axis. */
  band: TimeRange | null;
  setSpot(spot: Spot | null): void;
  setBand(band: TimeRange | null): void;
}

export function usePointer(): Pointer {
  const [spot, setSpot] = useState<Spot | null>(null);
  const [band, setBand] = useState<TimeRange | null>(null);
  return { spot, band, setSpot, setBand };
}

/**
 * What a press took hold of: the tracks in their state at that time, the axis at an instant, or the name of a track.
 */
type Held =
  | { kind: "pan"; spot: Spot; visible: TimeRange; scroll: number }
  | { kind: "band"; from: number }
  | { kind: "measure"; from: number }
  | { kind: "fold"; track: number }
  | { kind: "pin"; track: number };

const boxRange = (box: Box | null): TimeRange | null => box && { from: box.from, to: box.to };

/** Handlers for the stage, for the scene as it is currently drawn. */
export function useGestures(
  scroller: RefObject<HTMLDivElement | null>,
  scene: Scene,
  whole: TimeRange,
  actions: Actions,
  { setSpot, setBand }: Pointer,
) {
  const { time, visible, scroll, width } = scene;
  const spotOf = (event: MouseEvent): Spot => {
    const frame = scroller.current!.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  };
  const bandTo = (from: number, { x }: Spot): TimeRange => {
    const to = time.clampedNs(x);
    return { from: Math.min(from, to), to: Math.max(from, to) };
  };
  const edgeAt = (spot: Spot) =>
    snapped(time.clampedNs(spot.x), boxUnder(scene, Math.max(GUTTER_PX, spot.x), spot.y), time.ns_per_px);
  const { dragging, handlers } = useDrag<Held>({
    hold(event) {
      const spot = spotOf(event);
      if (spot.x > width) return null; // the scroll bar is left to the browser
      const area = areaAt(scene, spot.x, spot.y);
      if (event.shiftKey && area.kind !== "name") return { kind: "measure", from: edgeAt(spot) };
      if (area.kind === "axis") return { kind: "band", from: time.clampedNs(spot.x) };
      if (area.kind === "body") return { kind: "pan", spot, visible, scroll };
      const { place } = area;
      if (place.kind !== "track") return null;
      const track = place.track.id;
      if (spot.x >= GUTTER_PX - PIN_PX) return { kind: "pin", track };
      return foldable(place) ? { kind: "fold", track } : null;
    },
    drag(held, event) {
      const spot = spotOf(event);
      setSpot(spot);
      if (held.kind === "band") setBand(bandTo(held.from, spot));
      if (held.kind === "measure") actions.measure(rangeBetween(held.from, edgeAt(spot)), true);
      if (held.kind !== "pan") return;
      const by_ns = ((held.spot.x - spot.x) * lengthOf(held.visible)) / (width - GUTTER_PX);
      actions.setVisible(() => panned(held.visible, by_ns, whole));
      scroller.current!.scrollTop = held.scroll + held.spot.y - spot.y;
    },
    release(held, event, dragged) {
      const spot = spotOf(event);
      setBand(null);
      if (held.kind === "fold") actions.fold(held.track);
      else if (held.kind === "pin") actions.pin(held.track);
      else if (held.kind === "measure") {
        actions.measure(dragged ? rangeBetween(held.from, edgeAt(spot)) : boxRange(boxUnder(scene, spot.x, spot.y)));
      } else if (held.kind === "pan") {
        if (!dragged) actions.choose(boxUnder(scene, spot.x, spot.y));
      } else {
        const band = bandTo(held.from, spot);
        if (lengthOf(band) / time.ns_per_px >= DRAG_PX) actions.setVisible(() => within(band, whole));
      }
    },
    cancel: () => setBand(null),
    hover(event) {
      const spot = spotOf(event);
      setSpot(spot);
      const area = areaAt(scene, spot.x, spot.y);
      actions.focusHead(area.kind === "name" && area.place.kind === "track" ? area.place.track.id : null);
      const box = boxUnder(scene, spot.x, spot.y);
      if (!sameBox(box, scene.pointed)) actions.point(box);
    },
  });
  return {
    dragging,
    handlers: {
      ...handlers,
      onPointerLeave() {
        setSpot(null);
        actions.focusHead(null);
        actions.point(null);
      },
      onDblClick: (event: MouseEvent) => spotOf(event).x >= GUTTER_PX && actions.reset(),
      onWheel(event: WheelEvent) {
        const command = wheelCommand(event);
        if (!command) return;
        event.preventDefault();
        const at = time.clampedNs(spotOf(event).x);
        actions.setVisible((before) =>
          command.kind === "zoom"
            ? zoomed(before, at, command.factor, whole)
            : panned(before, command.px * time.ns_per_px, whole),
        );
      },
    },
  };
}
