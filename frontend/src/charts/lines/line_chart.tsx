/**
 * Values over steps, spans or time, one line per run. Lines differ by stroke and mark and never by colour, which is
 * meaning: the run in focus is firm and filled, the others are dashed and hollow. A missing value is a break.
 */

import { useMemo, useState } from "preact/hooks";
import type { Scale } from "../../format";
import { type BrokenAxis, type Extent, brokenAxis } from "../axes/broken_axis";
import { AxisX, AxisY, Breaks } from "./line_axes";
import { Borders, DirectLabels, Line, LitPoints, Reference, Rings } from "./line_marks";
import { nearest, pointerX, typed } from "../pointer/pointing";
import type { Dot } from "./polyline";
import { Sized } from "../../dom/size";
import { Tip, type TipContent, spoken } from "../pointer/tip";
import { valueAxis } from "../axes/value_axis";

/** A stretch of the axis without a break. */
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
  /** One of several small pictures: few ticks, no names beside lines. */
  small?: boolean;
  /** False where a legend names the lines. */
  named?: boolean;
  /** A level to compare with, such as a median. */
  reference?: { value: number; name: string } | undefined;
  lit: string | null;
  kept: string | null;
  light(key: string | null): void;
  keep(key: string | null): void;
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
interface Still
  extends Pick<LineChartProps, "height" | "segments" | "stops" | "pad" | "lines" | "scale" | "colour" | "reference"> {
  width: number;
  small: boolean;
  named: boolean;
  bandColour: string | null;
}

/** The same in pixels. */
export interface Drawn extends Still {
  frame: Frame;
  axis: BrokenAxis;
  xs: readonly number[];
  y(value: number): number;
  ticks: readonly number[];
}

/** From this width on a picture is taller: lines keep their slope. */
const WIDE = 800;
const SMALL_WIDE = 400;
const TALLER = 1.35;

export function LineChart(props: LineChartProps) {
  const wide = props.small ? SMALL_WIDE : WIDE;
  const height = (width: number) => Math.round(width > wide ? TALLER * props.height : props.height);
  return <Sized height={props.height}>{(width) => <Plot {...props} width={width} height={height(width)} />}</Sized>;
}

/** The picture at a width; pure, so that it can be drawn without a browser. */
export function Plot(props: LineChartProps & { width: number }) {
  const [pointed, setPointed] = useState<number | null>(null);
  const {
    label,
    width,
    height,
    segments,
    stops,
    pad,
    lines,
    scale,
    colour,
    small = false,
    named = true,
    bandColour = null,
    reference,
  } = props;
  const drawn = useMemo(
    () => layout({ width, height, segments, stops, pad, lines, scale, colour, small, named, bandColour, reference }),
    [width, height, segments, stops, pad, lines, scale, colour, small, named, bandColour, reference],
  );
  // Neither changes while the pointer moves: the same nodes are not drawn again.
  const under = useMemo(
    () => (
      <>
        <AxisY {...drawn} />
        <Breaks {...drawn} />
        <AxisX {...drawn} />
      </>
    ),
    [drawn],
  );
  const over = useMemo(() => <Lines {...drawn} />, [drawn]);
  const { xs, frame } = drawn;
  const choose = (stop: number | null) => {
    if (stop === pointed) return;
    setPointed(stop);
    props.light(stop === null ? null : stops[stop]!.key);
  };
  const keep = (stop: number | null) => props.keep(stop === null ? null : stops[stop]!.key);
  const content = pointed === null || !stops[pointed] ? null : props.tip(pointed);
  return (
    <>
      <svg
        class="chart points"
        width={width}
        height={height}
        role="img"
        aria-label={label}
        tabIndex={0}
        onPointerMove={(event) => choose(nearest(xs, pointerX(event)))}
        onPointerLeave={() => choose(null)}
        onBlur={() => choose(null)}
        onClick={() => keep(pointed)}
        onKeyDown={(event) => typed(event, pointed ?? stopOf(stops, props.kept), stops.length, { light: choose, keep })}
      >
        <rect x="0" y="0" width={width} height={height} fill="transparent" />
        {under}
        <Lit drawn={drawn} lit={props.lit} kept={props.kept} />
        {over}
        <LitPoints drawn={drawn} lit={props.lit ?? props.kept} />
      </svg>
      {content && <Tip content={content} x={xs[pointed!]!} y={frame.top} width={width} />}
      <span class="heard" role="status">
        {content && spoken(content)}
      </span>
    </>
  );
}

/** Lines, then what must not hide under them. The one in focus lies on top. */
function Lines(drawn: Drawn) {
  return (
    <>
      {[...drawn.lines]
        .sort((a, b) => Number(a.focus) - Number(b.focus))
        .map((line) => (
          <Line key={line.key} line={line} drawn={drawn} />
        ))}
      <Borders {...drawn} />
      <Reference {...drawn} />
      {!drawn.small && <Rings {...drawn} />}
      {!drawn.small && drawn.named && <DirectLabels {...drawn} />}
    </>
  );
}

function layout(props: Still): Drawn {
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

const stopOf = (stops: readonly LineStop[], key: string | null): number | null => {
  const at = stops.findIndex((stop) => stop.key === key);
  return at < 0 ? null : at;
};

interface LitProps {
  drawn: Drawn;
  lit: string | null;
  kept: string | null;
}

/** A line through what is chosen, wherever it was chosen. */
function Lit({ drawn: { stops, xs, frame }, lit, kept }: LitProps) {
  if (lit === null && kept === null) return null;
  return (
    <>
      {stops.map((stop, at) => {
        if (stop.key !== lit && stop.key !== kept) return null;
        return (
          <line
            key={at}
            class={`lit ${stop.key === kept ? "kept" : ""}`}
            x1={xs[at]}
            x2={xs[at]}
            y1={frame.top}
            y2={frame.bottom}
          />
        );
      })}
    </>
  );
}

/** A point of a line in pixels. */
export function dotOf({ xs, y }: Drawn, point: LinePoint, value: number | null = point.value): Dot | null {
  return value === null ? null : { x: xs[point.stop]!, y: y(value) };
}
