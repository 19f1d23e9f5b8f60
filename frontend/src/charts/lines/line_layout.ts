/** The inputs of a line chart, and where its parts are: everything that does not change while the pointer moves. */

import { extent } from "d3-array";
import { widestOf } from "../../dom/text_width";
import type { Scale } from "../../format";
import { valueAxis } from "../axes";
import type { StopSelection } from "../pointer/pointing";
import type { TipContent } from "../pointer/tip";
import type { Dot } from "./polyline";

/** A range of the axis without a break. */
export interface LineSegment extends Extent {
  /** Written below the marks. */
  caption: string;
  marks: readonly { at: number; text: string }[];
}

/** A place on the axis that can be chosen. Stops with the same key are highlighted together, in all pictures. */
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
  /** Marked with a ring. */
  slow?: boolean;
  /** From here on the line is on another level. */
  changed?: boolean;
}

export interface ChartLine {
  key: string;
  name: string;
  focus: boolean;
  /** Index among the colours of runs; a line without one is one of many. */
  hue?: number | undefined;
  /** Drawn as boldly as the line in focus: the line that it is compared with. */
  strong?: boolean | undefined;
  /** Combines many runs: its points belong to no single run. */
  group?: boolean;
  /** In the order of the stops; null is a break, and so is the step from one segment to the next. */
  points: readonly (LinePoint | null)[];
}

export interface LineChartProps extends StopSelection {
  /** One sentence with the figures. */
  label: string;
  height: number;
  segments: readonly LineSegment[];
  /** Ordered by segment and place. */
  stops: readonly LineStop[];
  /** Room at the ends of a segment, in the segment's unit. */
  pad: number;
  lines: readonly ChartLine[];
  scale: Scale;
  /** Meaning, as a colour name, of the line in focus. */
  colour: string;
  /** One of several small pictures, with few ticks. */
  small?: boolean;
  /** A second figure, with its axis on the right. */
  overlay?: Overlay | null;
  /** Lines that are drawn only while the pointer is nearest to them. */
  hidden?: Crowd;
  /** The highest value on the axis, where higher values are cut off (`cut_axis.ts`); null: none are. */
  end?: number | null;
  /** The text in the picture that names the values above the axis. */
  above?: string;
  /** A level to compare with, such as a median. */
  reference?: { value: number; name: string } | undefined;
  /** `near`: the key of the hidden line that is nearest to the pointer. */
  tip(stop: number, near: string | null): TipContent;
}

/** The area of the plot within the picture, px. */
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
  hidden: Crowd;
  overlay: Overlay | null;
  end: number | null;
  above: string;
}

export interface Drawn extends Layout {
  /** The name of the reference line, which stands at its right end outside the plot: a text for each row. */
  beside: readonly string[];
  frame: Frame;
  axis: BrokenAxis;
  xs: readonly number[];
  y(value: number): number;
  /** In the scale's own unit. */
  ticks: readonly number[];
  /** The position of a tick, px. */
  tickY(tick: number): number;
  /** Where all values above the end of the axis are drawn; null: there are none. */
  shelf: number | null;
}

export function layout(props: Layout): Drawn {
  const { small, width, height, lines, scale, segments, stops, end } = props;
  const over = end === null ? 0 : small ? SMALL_OVER : OVER;
  const beside = small ? [] : rowsOf(props.reference?.name ?? "");
  const right = beside.length > 0 ? END_GAP + Math.ceil(widestOf(beside)) : 0;
  const frame = small
    ? { left: 44, right: width, top: 11 + over, bottom: height - 20 }
    : { left: 50, right: width - right - (props.overlay ? OVERLAY_PX : 0), top: 10 + over, bottom: height - 34 };
  const inner = small ? 2 : 4; // the last mark stays inside the picture
  const axis = brokenAxis(segments, frame.left, frame.right - inner, props.pad);
  const values: (number | null)[] = lines.flatMap((line) =>
    line.points.flatMap((point) => (point ? [point.value, point.low ?? null, point.high ?? null] : [])),
  );
  values.push(...extent(props.hidden.value).map((value) => value ?? null));
  const present = [...values, props.reference?.value ?? null]
    .filter((value) => value !== null && (end === null || value <= end))
    .map((value) => scale.of(value!));
  const { low, high, ticks } = valueAxis(present, small, small ? 2 : 4, scale.unit === "%" ? ALL : Infinity);
  const room = small ? 0 : 6; // for a ring around the highest point
  const shelf = end === null ? null : frame.top - (small ? SMALL_SHELF : SHELF);
  const tickY = (tick: number) => frame.bottom - ((tick - low) / (high - low || 1)) * (frame.bottom - frame.top - room);
  const y = (value: number) => (shelf !== null && value > end! ? shelf : tickY(scale.of(value)));
  return {
    ...props,
    beside,
    frame,
    axis,
    xs: stops.map((stop) => axis.x(stop.segment, stop.at)),
    y,
    tickY,
    ticks,
    shelf,
  };
}

/** Room above an axis that cuts values off, and how far above the axis these are drawn, px. */
const OVER = 28;
const SHELF = 12;
const SMALL_OVER = 18;
const SMALL_SHELF = 9;

/** The room that a name at the end of a line takes beside its text, px. */
export const END_GAP = 14;

/** "median 12.0 ms" -> "median", "12.0 ms" */
function rowsOf(name: string): string[] {
  const [first, ...others] = name.split(" ");
  return [first!, others.join(" ")].filter((row) => row !== "");
}

/** The highest possible share, in percent. */
const ALL = 100;

/** The position of a line's point, px. */
export function dotOf({ xs, y }: Drawn, point: LinePoint, value: number | null = point.value): Dot | null {
  return value === null ? null : { x: xs[point.stop]!, y: y(value) };
}

/**
 * An axis with breaks: the time between two spans was not recorded and takes no room. The width of each segment is in
 * proportion to what it contains.
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

/** The width of a break that is recognisable as one. */
const GAP = 14;

/** Breaks never take more of the axis than this: a thousand spans are then one continuous line. */
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
  /** The stop of each point, in the order of the stops. */
  stops: Int32Array;
  /** NaN is a break. */
  values: Float64Array;
}

export interface Crowd {
  lines: readonly CrowdLine[];
  /** The index of the first point of each stop, with one more entry than there are stops. */
  from: Int32Array;
  /** The line and the value of each point, with the points of a stop together. */
  line: Int32Array;
  value: Float64Array;
}

/** The data of a second figure over the axis of a line chart. */
export interface OverlayPoint {
  segment: number;
  /** In the unit of its segment. */
  at: number;
  value: number;
}

export interface Overlay {
  name: string;
  /** In the order of the axis. */
  points: readonly OverlayPoint[];
}

/** Room for the second axis, px. */
export const OVERLAY_PX = 58;
