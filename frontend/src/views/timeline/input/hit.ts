/** What is under a point of the picture, and the text of its tip. */

import type { TipContent } from "../../../charts/pointer/tip";
import { count, fine, shortened } from "../../../format";
import { type Box, boxAt, hit, rowKey } from "../data/boxes";
import type { Layer } from "../data/pages";
import { isFolded, type Layout, type Placed, placeAt, ROW_PX, rowTop } from "../layout";
import { AXIS_PX, GUTTER_PX, heightAt, type Scene, topOf } from "../scene";

/** A box this close to the pointer counts as hit. */
const REACH_PX = 3;

type Area = { kind: "axis" } | { kind: "name"; place: Placed } | { kind: "body"; place: Placed | undefined };

type Ground = Pick<Scene, "layout" | "scroll">;

export function areaAt({ layout, scroll }: Ground, x: number, y: number): Area {
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
    title: shortened(box.fullName, NAME_LETTERS),
    rows: [
      { name: many ? `${count(box.count)} events within` : "Duration", value: fine(box.to - box.from) },
      { name: "Start in the step", value: fine(box.from - origin_ns) },
      ...(track ? [{ name: track.group, value: track.label }] : []),
      ...(many ? [{ name: "The name is the longest’s", value: "zoom in to part them" }] : []),
    ],
  };
}
