/** What a line chart is given, and where its parts stand: everything that does not change while the pointer moves. */

import { extent } from "d3-array";
import { widestOf } from "../../dom/text_width";
import type { Scale } from "../../format";
import { valueAxis } from "../axes/value_axis";
import type { TipContent } from "../pointer/tip";
import type { Dot } from "./polyline";

/** A range of the axis without a break. */
export interface LineSegment extends Extent {
  /** Stands below the marks. */
  caption: string;
  marks: readonly { at: number; text: string }[];
}

/** A place on the axis that can be chosen. Stops of one key light together, in all pictures. */
export interface LineStop {
  key: string;
  segment: number;
  at: number;
}

export interface LinePoint {
  stop: number;
  value: number | null;
  /** The range over the processes of a run. */
  low?: number | null;
  high?: number | null;
  /** Ringed. */
  slow?: boolean;
  /** From here on the line is on another level. */
  changed?: boolean;
}

export interface ChartLine {
  key: string;
  name: string;
  focus: boolean;
  /** Place among the colours of runs; without one a line is one of many. */
  hue?: number | undefined;
  /** As firm as the one in focus: what that is compared with. */
  strong?: boolean | undefined;
  /** Of many runs together: its points are nobody's. */
  group?: boolean;
  /** In the order of the stops; null is a break, as is the way from one segment to the next. */
  points: readonly (LinePoint | null)[];
}

export interface LineChartProps {
  /** One sentence with the figures. */
  label: string;
  height: number;
  segments: readonly LineSegment[];
  /** By segment and place. */
  stops: readonly LineStop[];
  /** Room at the ends of a segment, in its unit. */
  pad: number;
  lines: readonly ChartLine[];
  scale: Scale;
  /** Meaning of the line in focus. */
  colour: string;
  /** Meaning of its range, where that is another. */
  bandColour?: string;
  /** One of several small pictures: few ticks, no names next to lines. */
  small?: boolean;
  /** False where a legend names the lines. */
  named?: boolean;
  /** A second figure, with its axis at the right. */
  overlay?: Overlay | null;
  /** Lines that are drawn only while the pointer is nearest to them. */
  hidden?: Crowd;
  /** The highest value on the axis, where some are left out of it (`cut_axis.ts`); null: none are. */
  end?: number | null;
  /** What is left out, as said in the picture. */
  above?: string;
  /** A level to compare with, such as a median. */
  reference?: { value: number; name: string } | undefined;
  hovered: string | null;
  selected: string | null;
  hover(key: string | null): void;
  select(key: string | null): void;
  /** `near`: key of the hidden line that the pointer is nearest to. */
  tip(stop: number, near: string | null): TipContent;
}

/** Where the parts of the picture are, px. */
interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** What does not change while the pointer moves. */
interface Layout
  extends Pick<LineChartProps, "height" | "segments" | "stops" | "pad" | "lines" | "scale" | "colour" | "reference"> {
  width: number;
  small: boolean;
  named: boolean;
  bandColour: string | null;
  hidden: Crowd;
  overlay: Overlay | null;
  end: number | null;
  above: string;
}

/** The same in pixels. */
export interface Drawn extends Layout {
  /** Room for names at the ends of lines, px; 0: there is none. */
  ends: number;
  frame: Frame;
  axis: BrokenAxis;
  xs: readonly number[];
  y(value: number): number;
  /** In the scale's own unit. */
  ticks: readonly number[];
  /** Of a tick. */
  tickY(tick: number): number;
  /** Where all stands that is above the axis; null: nothing is. */
  shelf: number | null;
}

export function layout(props: Layout): Drawn {
  const { small, width, height, lines, scale, segments, stops, end } = props;
  const over = end === null ? 0 : small ? SMALL_OVER : OVER;
  const ends = endsWidth(props);
  const frame = small
    ? { left: 44, right: width, top: 11 + over, bottom: height - 20 }
    : { left: 50, right: width - ends - (props.overlay ? OVERLAY_PX : 0), top: 10 + over, bottom: height - 34 };
  const inner = small ? 2 : 4; // the last mark stays in the picture
  const axis = brokenAxis(segments, frame.left, frame.right - inner, props.pad);
  const values: (number | null)[] = lines.flatMap((line) =>
    line.points.flatMap((point) => (point ? [point.value, point.low ?? null, point.high ?? null] : [])),
  );
  values.push(...extent(props.hidden.value).map((value) => value ?? null));
  const known = [...values, props.reference?.value ?? null]
    .filter((value) => value !== null && (end === null || value <= end))
    .map((value) => scale.of(value!));
  const { low, high, ticks } = valueAxis(known, small, small ? 2 : 4, scale.unit === "%" ? ALL : Infinity);
  const room = small ? 0 : 6; // a ring around the highest point
  const shelf = end === null ? null : frame.top - (small ? SMALL_SHELF : SHELF);
  const tickY = (tick: number) => frame.bottom - ((tick - low) / (high - low || 1)) * (frame.bottom - frame.top - room);
  const y = (value: number) => (shelf !== null && value > end! ? shelf : tickY(scale.of(value)));
  return {
    ...props,
    ends,
    frame,
    axis,
    xs: stops.map((stop) => axis.x(stop.segment, stop.at)),
    y,
    tickY,
    ticks,
    shelf,
  };
}

/** Room above an axis that leaves values out, and how far over the axis these stand, px. */
const OVER = 28;
const SHELF = 12;
const SMALL_OVER = 18;
const SMALL_SHELF = 9;

/** Names at the ends of lines take at most this much, and only from a picture that has it, px. */
const MOST_ENDS = 150;
const ENDS_FROM = 420;

/** What stands between a line's end and its name, px. */
export const END_GAP = 14;

/** Names of coloured lines stand at their ends, where most of them end there: over time each ends elsewhere. */
function endsWidth({ small, named, width, lines, stops, overlay }: Layout): number {
  const runs = lines.filter((line) => line.hue !== undefined);
  if (small || !named || overlay || width < ENDS_FROM || runs.length < 2) return 0;
  const last = runs.map((line) => line.points.findLast((point) => point?.value != null)?.stop ?? 0);
  const early = last.filter((stop) => stop < LATE * (stops.length - 1)).length;
  if (early > last.length / 2) return 0;
  return Math.min(
    MOST_ENDS,
    END_GAP +
      widestOf(
        runs.map((line) => line.name),
        "small",
      ) +
      2,
  );
}

/** A line that stops before this share of the axis does not end at its end. */
const LATE = 0.5;

/** Shares end here, in percent. */
const ALL = 100;

/** A point of a line in pixels. */
export function dotOf({ xs, y }: Drawn, point: LinePoint, value: number | null = point.value): Dot | null {
  return value === null ? null : { x: xs[point.stop]!, y: y(value) };
}

/**
 * An axis with breaks: what lies between two spans was not recorded and takes no room. Each segment is as wide as what
 * it
 * holds.
 *
 *     |--5--6--7--8--9--10--/ /--16--17--18--19--20--21--|
 */
interface Extent {
  from: number;
  /** At least `from`; in the same unit in all segments. */
  to: number;
}

interface BrokenAxis {
  x(segment: number, at: number): number;
  /** Left and right edge of each segment. */
  edges: readonly (readonly [number, number])[];
  /** Pixels of a break. */
  gap: number;
  /** Pixels of one unit. */
  pace: number;
}

/** A break that shows as one. */
const GAP = 14;

/** Breaks never take more of the axis than this: a thousand spans are then one line. */
const GAPS_FRACTION = 0.25;

/** `pad` is the room before the first and after the last point of a segment, in the segments' unit. */
export function brokenAxis(segments: readonly Extent[], left: number, right: number, pad: number): BrokenAxis {
  const breaks = Math.max(0, segments.length - 1);
  const gap = breaks === 0 ? 0 : Math.min(GAP, (GAPS_FRACTION * (right - left)) / breaks);
  const units = segments.reduce((sum, { from, to }) => sum + (to - from) + 2 * pad, 0);
  const pace = units > 0 ? (right - left - breaks * gap) / units : 0;
  const edges: [number, number][] = [];
  let start = left;
  for (const { from, to } of segments) {
    const end = start + (to - from + 2 * pad) * pace;
    edges.push([start, end]);
    start = end + gap;
  }
  return { edges, gap, pace, x: (segment, at) => edges[segment]![0] + (at - segments[segment]!.from + pad) * pace };
}

export interface CrowdLine {
  key: string;
  name: string;
  /** Of each point, in the order of the stops. */
  stops: Int32Array;
  /** NaN is a break. */
  values: Float64Array;
}

export interface Crowd {
  lines: readonly CrowdLine[];
  /** Where the points of a stop begin, one more than there are stops. */
  from: Int32Array;
  /** By point, those of a stop together: its line, and its value. */
  line: Int32Array;
  value: Float64Array;
}

/** What a second figure over the axis of a line chart is given as. */
export interface OverlayPoint {
  segment: number;
  /** In the unit of the segment. */
  at: number;
  value: number;
}

export interface Overlay {
  name: string;
  /** Along the axis. */
  points: readonly OverlayPoint[];
}

/** Room for its own axis, px. */
export const OVERLAY_PX = 58;
