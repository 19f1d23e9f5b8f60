/**
 * Pointer and wheel: dragging the tracks moves the picture, with Shift it measures; dragging on the axis marks a range
 * to zoom to, a click chooses an event. Also what is under a point of the picture, and the text of its tip.
 */

import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import type { TipContent } from "../../../charts/pointer/tip";
import { DRAG_PX, useDrag } from "../../../charts/pointer/zoom";
import { lineName } from "../../../code_line";
import { count, fine, shortened } from "../../../format";
import { lengthOf, panned, type TimeRange, within, zoomed } from "../../../time_range";
import { type Box, boxAt, hit, rowKey } from "../data/boxes";
import { sameBox } from "../data/found";
import type { Layer } from "../data/pages";
import { isFolded, type Layout, type Placed, placeAt, ROW_PX, rowTop } from "../layout";
import { rangeBetween, snapped } from "../range";
import { AXIS_PX, GUTTER_PX, heightAt, PIN_PX, type Scene, topOf } from "../scene";
import { type Actions, wheelCommand } from "./commands";
import { foldable } from "./neighbours";

interface Spot {
  x: number;
  y: number;
}

interface Pointer {
  spot: Spot | null;
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

/** A box this close to the pointer counts as hit. */
const REACH_PX = 3;

type Area = { kind: "axis" } | { kind: "name"; place: Placed } | { kind: "body"; place: Placed | undefined };

type Ground = Pick<Scene, "layout" | "scroll">;

function areaAt({ layout, scroll }: Ground, x: number, y: number): Area {
  if (y < AXIS_PX) return { kind: "axis" };
  const place = placeAt(layout, heightAt({ layout, scroll }, y));
  return place && x < GUTTER_PX ? { kind: "name", place } : { kind: "body", place };
}

export function boxUnder(
  scene: Pick<Scene, "layout" | "scroll" | "layers" | "time">,
  x: number,
  y: number,
): Box | null {
  const area = areaAt(scene, x, y);
  if (area.kind !== "body" || area.place?.kind !== "track" || x < GUTTER_PX) return null;
  const row = Math.min(area.place.rows - 1, Math.floor((heightAt(scene, y) - area.place.top) / area.place.row_px));
  const instant = scene.time.ns(x);
  const layer = layerAt(scene.layers, instant);
  const boxes = layer?.boxes.rows.get(rowKey(area.place.track.id, row));
  const at = layer && boxes ? hit(layer.boxes, boxes, instant, REACH_PX * scene.time.ns_per_px) : null;
  return layer && at !== null ? boxAt(layer.boxes, at) : null;
}

const layerAt = (layers: readonly Layer[], ns: number): Layer | undefined =>
  layers.find(({ from, to }) => ns >= from && ns < to);

/** The point that a box's tip refers to: the middle of its visible part, below its row. */
export function tipSpot(
  { layout, scroll, time, width }: Pick<Scene, "layout" | "scroll" | "time" | "width">,
  box: Box,
): { x: number; y: number } {
  const [left, right] = [Math.max(GUTTER_PX, time.x(box.from)), Math.min(width, time.x(box.to))];
  return {
    x: (left + right) / 2,
    y: topOf({ layout, scroll }, { top: rowTop(layout, box.track, box.row) ?? 0 }) + ROW_PX + 2,
  };
}

/** The tip of a track's name, which the picture may shorten. */
export function headTip(track: number, layout: Layout): TipContent | null {
  const place = layout.tracks.get(track);
  if (!place) return null;
  const { label, group } = place.track;
  return {
    title: label,
    rows: [
      ...(group ? [{ name: "In", value: group }] : []),
      ...(place.rows > 1 ? [{ name: "Press its name", value: isFolded(place) ? "opens it" : "folds it" }] : []),
      { name: "Press its pin", value: place.pinned ? "puts it back" : "keeps it in sight" },
    ],
  };
}

const NAME_LETTERS = 90;

export function tipOf(box: Box, layout: Layout, origin_ns: number): TipContent {
  const track = layout.tracks.get(box.track)?.track;
  const many = box.count > 1;
  return {
    title: shortened(lineName(box.fullName), NAME_LETTERS),
    rows: [
      { name: many ? `${count(box.count)} events within` : "Duration", value: fine(box.to - box.from) },
      { name: "Start in the step", value: fine(box.from - origin_ns) },
      ...(track ? [{ name: track.group, value: track.label }] : []),
      ...(many ? [{ name: "The name is the longest’s", value: "zoom in to part them" }] : []),
    ],
  };
}
