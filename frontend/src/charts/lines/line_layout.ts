/** What a line chart is given, and where its parts stand: everything that does not change while the pointer moves. */

import type { Scale } from "../../format";
import { type BrokenAxis, brokenAxis, type Extent } from "../axes/broken_axis";
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
  /** A level to compare with, such as a median. */
  reference?: { value: number; name: string } | undefined;
  hovered: string | null;
  selected: string | null;
  hover(key: string | null): void;
  select(key: string | null): void;
  tip(stop: number): TipContent;
}

/** Where the parts of the picture are, px. */
export interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** What does not change while the pointer moves. */
export interface Layout
  extends Pick<LineChartProps, "height" | "segments" | "stops" | "pad" | "lines" | "scale" | "colour" | "reference"> {
  width: number;
  small: boolean;
  named: boolean;
  bandColour: string | null;
}

/** The same in pixels. */
export interface Drawn extends Layout {
  frame: Frame;
  axis: BrokenAxis;
  xs: readonly number[];
  y(value: number): number;
  ticks: readonly number[];
}

export function layout(props: Layout): Drawn {
  const { small, width, height, lines, scale, segments, stops } = props;
  const frame = small
    ? { left: 44, right: width, top: 11, bottom: height - 20 }
    : { left: 50, right: width, top: 10, bottom: height - 34 };
  const inner = small ? 2 : 4; // the last mark stays in the picture
  const axis = brokenAxis(segments, frame.left, frame.right - inner, props.pad);
  const values = lines.flatMap((line) =>
    line.points.flatMap((point) => (point ? [point.value, point.low ?? null, point.high ?? null] : [])),
  );
  const known = [...values, props.reference?.value ?? null].filter((value) => value !== null).map(scale.of);
  const { low, high, ticks } = valueAxis(known, small, small ? 2 : 4, scale.unit === "%" ? ALL : Infinity);
  const room = small ? 0 : 6; // a ring around the highest point
  const y = (value: number) =>
    frame.bottom - ((scale.of(value) - low) / (high - low || 1)) * (frame.bottom - frame.top - room);
  return { ...props, frame, axis, xs: stops.map((stop) => axis.x(stop.segment, stop.at)), y, ticks };
}

/** Shares end here, in percent. */
const ALL = 100;

/** A point of a line in pixels. */
export function dotOf({ xs, y }: Drawn, point: LinePoint, value: number | null = point.value): Dot | null {
  return value === null ? null : { x: xs[point.stop]!, y: y(value) };
}
