/** Everything that the picture shows, as one value: painting is a function of this and nothing else. */

import type { EventDetail, TimelineStep } from "../../api.gen";
import type { Palette } from "../../charts/canvas/palette";
import type { Scale } from "../../format";
import type { TimeRange, TimeScale } from "../../time_range";
import type { Box } from "./data/boxes";
import type { Matcher } from "./data/found";
import type { Layer } from "./data/pages";
import type { Layout } from "./layout";

/** The width of the area for track names, left of the tracks. */
export const GUTTER_PX = 180;

/** The area at the right end of a name where a click pins the track. */
export const PIN_PX = 18;

/** The height of the time axis, above the tracks. */
export const AXIS_PX = 26;

/** The height of a box within its row. */
export const BOX_PX = 16;

export interface Scene {
  width: number;
  height: number;
  /** How far the tracks are scrolled down, px. */
  scroll: number;
  visible: TimeRange;
  time: TimeScale;
  layout: Layout;
  layers: readonly Layer[];
  palette: Palette;
  steps: readonly TimelineStep[];
  /** The step that is shown: the axis counts from its start. */
  step: TimelineStep;
  scale: Scale;
  matches: Matcher | null;
  off: ReadonlySet<string>;
  pointed: Box | null;
  /** The track whose name the pointer or the keys are on. */
  head: number | null;
  /** The instant under the pointer, ns. */
  pointer_ns: number | null;
  chosen: EventDetail | null;
  range: TimeRange | null;
  /** The length of the range is rounded, as in sentences. */
  brief?: boolean;
  band: TimeRange | null;
}

type Ground = Pick<Scene, "layout" | "scroll">;

/** The position of a place in the canvas; everything but pinned tracks scrolls, by whole pixels. */
export const topOf = ({ layout, scroll }: Ground, { top }: { top: number }): number =>
  AXIS_PX + top - (top < layout.fixed_px ? 0 : Math.round(scroll));

/** Converts a y position in the canvas to a height in the layout: the inverse of `topOf`. */
export const heightAt = ({ layout, scroll }: Ground, y: number): number =>
  y - AXIS_PX + (y - AXIS_PX < layout.fixed_px ? 0 : scroll);
