/**
 * Values over steps, spans or time, one line per run, each in its own colour, which the legend names; the line in focus
 * is bold and filled. A single line has the colour of its meaning. A missing value is a break.
 */

import { useMemo, useState } from "preact/hooks";
import { useSameFields } from "../../dom/hooks";
import { Sized } from "../../dom/size";
import { textWidth } from "../../dom/text_width";
import { tick } from "../../format";
import { type AxisLabel, AxisLabels, thinned, ValueGrid, valueAxis } from "../axes";
import { indexOf, nearest } from "../pointer/pointing";
import { StopsPicture } from "../pointer/stops_picture";
import { lineIn, NOBODY, nearestAt } from "./crowd";
import {
  type Crowd,
  type Drawn,
  type LineChartProps,
  type LineSegment,
  layout,
  OVERLAY_PX,
  type Overlay,
} from "./line_layout";
import { Borders, HoveredPoints, Isolated, Line, Reference, ReferenceName, Rings, unmarkedPoints } from "./line_marks";
import { pathOf } from "./polyline";

/** From this width on a picture is taller, so that lines keep their slope. */
const WIDE = 800;
const SMALL_WIDE = 400;
const TALLER = 1.35;

export function LineChart(props: LineChartProps) {
  const wide = props.small ? SMALL_WIDE : WIDE;
  const height = (width: number) => Math.round(width > wide ? TALLER * props.height : props.height);
  return <Sized height={props.height}>{(width) => <Plot {...props} width={width} height={height(width)} />}</Sized>;
}

/** The picture at a given width; pure, so that it can be drawn without a browser. */
export function Plot(props: LineChartProps & { width: number }) {
  const [pointed, setPointed] = useState<number | null>(null);
  const [near, setNear] = useState<string | null>(null);
  const { label, width, height, segments, stops, pad, lines, scale, colour, reference, hidden = NOBODY } = props;
  const { small = false, overlay = null, end = null, above = "" } = props;
  const options = useSameFields({
    ...{ width, height, segments, stops, pad, lines, scale, colour, reference, hidden },
    ...{ small, overlay, end, above },
  });
  const drawn = useMemo(() => layout(options), [options]);
  // Neither changes while the pointer moves, so the same nodes are not rendered again.
  const under = useMemo(
    () => (
      <>
        <AxisY {...drawn} />
        <AxisEnd {...drawn} />
        <Breaks {...drawn} />
        <AxisX {...drawn} />
      </>
    ),
    [drawn],
  );
  const over = useMemo(() => <Lines {...drawn} />, [drawn]);
  const unmarked = useMemo(() => unmarkedPoints(drawn), [drawn]);
  const alone = useMemo(() => lineIn(hidden, near), [hidden, near]);
  const isolated = useMemo(() => alone && <Isolated line={alone} drawn={drawn} />, [alone, drawn]);
  const { xs, frame } = drawn;
  const choose = (stop: number | null, at_px?: number) => {
    setNear(stop === null || at_px === undefined ? null : nearestLine(hidden, stop, drawn, at_px));
    if (stop === pointed) return;
    setPointed(stop);
    props.hover(stop === null ? null : stops[stop]!.key);
  };
  const content = pointed === null || !stops[pointed] ? null : props.tip(pointed, near);
  const stop = content ? pointed : indexOf(stops, ({ key }) => key === props.selected);
  return (
    <StopsPicture
      class="chart points"
      {...{ label, width, height }}
      at={stop}
      count={stops.length}
      content={stop === null ? null : props.tip(stop, near)}
      stopAt={(px) => nearest(xs, px)}
      hover={choose}
      select={(at) => props.select(at === null ? null : stops[at]!.key)}
      tip={{ content, x: xs[pointed ?? 0] ?? 0, y: frame.top }}
    >
      {under}
      <Marked drawn={drawn} hovered={props.hovered} selected={props.selected} />
      {over}
      {isolated}
      <HoveredPoints drawn={drawn} points={unmarked.get(props.hovered ?? props.selected ?? "") ?? []} />
    </StopsPicture>
  );
}

const nearestLine = (hidden: Crowd, stop: number, { y }: Drawn, at_px: number): string | null =>
  nearestAt(hidden, stop, (value) => Math.abs(y(value) - at_px));

/** The lines, then what they must not cover. The line in focus is on top. */
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
      <ReferenceName {...drawn} />
      {drawn.overlay && <OverlayLine overlay={drawn.overlay} drawn={drawn} />}
    </>
  );
}

interface HoverProps {
  drawn: Drawn;
  hovered: string | null;
  selected: string | null;
}

/** A vertical line through what is hovered or selected, in whichever picture that was. */
function Marked({ drawn: { stops, xs, frame }, hovered, selected }: HoverProps) {
  if (hovered === null && selected === null) return null;
  return (
    <>
      {stops.map((stop, at) => {
        if (stop.key !== hovered && stop.key !== selected) return null;
        return (
          <line
            key={at}
            class={`hovered ${stop.key === selected ? "selected" : ""}`}
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

const GAPS = 4;

/** Points further apart than this have marks, px. */
const MARKED_PX = 7;

/**
 * A second figure over the same axis, with its own axis on the right: dotted, so that it is not taken for a run's
 * line.
 */
function OverlayLine({ overlay, drawn }: { overlay: Overlay; drawn: Drawn }) {
  const { axis, frame } = drawn;
  const values = overlay.points.map(({ value }) => value);
  const { low, high, ticks } = valueAxis(values, false, GAPS);
  const y = (value: number) => frame.bottom - ((value - low) / (high - low || 1)) * (frame.bottom - frame.top);
  const dots = overlay.points.map(({ segment, at, value }) => ({ x: axis.x(segment, at), y: y(value) }));
  const marked = (frame.right - frame.left) / Math.max(1, dots.length) > MARKED_PX;
  return (
    <g class="overlay">
      {ticks.map((value) => (
        <text key={value} x={frame.right + 8} y={y(value) + 4}>
          {tick(value)}
        </text>
      ))}
      <text class="end own" x={frame.right + OVERLAY_PX} y={frame.bottom + 29}>
        {overlay.name}
      </text>
      <path class="line" d={pathOf(dots)} />
      {marked && dots.map((dot, at) => <rect key={at} x={dot.x - 2} y={dot.y - 2} width="4" height="4" />)}
    </g>
  );
}

/** The unit is written at the top tick only. */
function AxisY({ ticks, scale, frame, tickY }: Drawn) {
  const y = (tick: number) => Math.round(tickY(tick) * 10) / 10;
  return <ValueGrid ticks={ticks} y={y} left={frame.left} right={frame.right} unit={scale.unit} />;
}

/**
 * The values above the end of the axis: the line at which they are drawn, and the text that names them. A small picture
 * has no room for a label above that of the last tick.
 */
function AxisEnd({ shelf, frame, above, small }: Drawn) {
  if (shelf === null) return null;
  return (
    <g>
      <line class="grid" stroke-dasharray="2 3" x1={frame.left} x2={frame.right} y1={shelf} y2={shelf} />
      {!small && (
        <text class="end" x={frame.left - 6} y={shelf + 4}>
          above
        </text>
      )}
      <text class="end" x={frame.right} y={shelf - (small ? 6 : 8)}>
        {above}
      </text>
    </g>
  );
}

/** Breaks narrower than this are left as space without a mark. */
const MARKED_BREAK = 8;

function Breaks({ axis, frame }: Drawn) {
  if (axis.gap < MARKED_BREAK) return null;
  return (
    <g>
      {axis.edges.slice(0, -1).map(([, end]) => (
        <g key={end}>
          <rect class="cover" x={end} y={frame.top - 6} width={axis.gap} height={frame.bottom - frame.top + 8} />
          <path
            class="tick"
            fill="none"
            d={`M${end} ${frame.bottom + 4}l3 -8M${end + axis.gap - 3} ${frame.bottom + 4}l3 -8`}
          />
        </g>
      ))}
    </g>
  );
}

function AxisX(drawn: Drawn) {
  const { segments, small, frame } = drawn;
  const marks = inFrame(separate(marksOf(drawn)), frame.right);
  const captions = inFrame(
    small
      ? smallCaptions(drawn, marks)
      : thinned(segments.map((segment, at) => ({ x: middle(drawn, at), text: segment.caption }))),
    frame.right,
  );
  return (
    <g>
      <AxisLabels labels={marks} y={frame.bottom + (small ? 15 : 14)} />
      <AxisLabels labels={captions} y={frame.bottom + (small ? 15 : 29)} />
    </g>
  );
}

/** Drops labels that would touch the one before: two neighbouring segments may end and begin with long labels. */
function separate(labels: readonly AxisLabel[]): readonly AxisLabel[] {
  let end = -Infinity;
  return labels.filter(({ x, text }) => {
    const half = textWidth(text) / 2;
    if (x - half < end + 4) return false;
    end = x + half;
    return true;
  });
}

/** Moves labels so that none is cut off at an edge. */
function inFrame(labels: readonly AxisLabel[], right: number): readonly AxisLabel[] {
  return labels.map(({ x, text }) => {
    const half = textWidth(text) / 2;
    return { x: Math.max(half, Math.min(right - half, x)), text };
  });
}

/** Segments narrower than this many pixels have no ticks of their own; the captions below locate them. */
const MARKED_SEGMENT = 30;

function marksOf(drawn: Drawn): readonly AxisLabel[] {
  const { segments, axis, small } = drawn;
  const narrowest = Math.min(...axis.edges.map(([start, end]) => end - start));
  if (narrowest < MARKED_SEGMENT) return segments.length === 1 ? ends(drawn, segments[0]!, 0) : [];
  return segments.flatMap((segment, at) => (small ? ends(drawn, segment, at) : thinned(place(drawn, segment, at))));
}

const place = ({ axis }: Drawn, { marks }: LineSegment, segment: number): AxisLabel[] =>
  marks.map((mark) => ({ x: axis.x(segment, mark.at), text: mark.text }));

/** The first and the last label only. */
function ends(drawn: Drawn, segment: LineSegment, at: number): AxisLabel[] {
  const all = place(drawn, segment, at);
  const [first, last] = [all[0], all[all.length - 1]];
  return first && last && last.x - first.x > textWidth(first.text) + textWidth(last.text)
    ? [first, last]
    : first
      ? [first]
      : [];
}

const middle = ({ axis, segments }: Drawn, at: number): number =>
  (axis.x(at, segments[at]!.from) + axis.x(at, segments[at]!.to)) / 2;

/** Captions between the tick labels, where there is room. */
function smallCaptions(drawn: Drawn, marks: readonly AxisLabel[]): readonly AxisLabel[] {
  const all = drawn.segments.map((segment, at) => ({ x: middle(drawn, at), text: segment.caption }));
  return all
    .filter((caption) =>
      marks.every((mark) => Math.abs(mark.x - caption.x) > (textWidth(mark.text) + textWidth(caption.text)) / 2 + 6),
    )
    .filter((_, at) => marks.length > 0 || at === all.length >> 1);
}
