/** All that the picture shows, as one value: painting it is a function of this and nothing else. */

import type { EventDetail, TimelineStep } from "../../api.gen";
import type { Palette } from "../../charts/canvas/palette";
import type { Scale } from "../../format";
import type { TimeRange, TimeScale } from "../../time_range";
import type { Box } from "./data/boxes";
import type { Matcher } from "./data/found";
import type { Layer } from "./data/pages";
import type { Layout } from "./layout";

/** Names of tracks stand left of this. */
export const GUTTER_PX = 180;

/** At the right end of a name: pressing here pins the track. */
export const PIN_PX = 18;

/** The time axis stands above this. */
export const AXIS_PX = 26;

/** A box within its row. */
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
  /** Colours whose boxes are dimmed. */
  off: ReadonlySet<string>;
  pointed: Box | null;
  /** The track whose name the pointer or the keys are at. */
  head: number | null;
  /** The pointer's place in time, ns. */
  pointer_ns: number | null;
  chosen: EventDetail | null;
  /** The range that is measured. */
  range: TimeRange | null;
  /** A range that is being marked on the axis. */
  band: TimeRange | null;
}

type Ground = Pick<Scene, "layout" | "scroll">;

/** Where a place begins in the canvas; scrolled by whole pixels, but for what is pinned. */
export const topOf = ({ layout, scroll }: Ground, { top }: { top: number }): number =>
  AXIS_PX + top - (top < layout.fixed_px ? 0 : Math.round(scroll));

/** The height in the layout of a point of the canvas: the inverse of `topOf`. */
export const heightAt = ({ layout, scroll }: Ground, y: number): number =>
  y - AXIS_PX + (y - AXIS_PX < layout.fixed_px ? 0 : scroll);
