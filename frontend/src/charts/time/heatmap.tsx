/**
 * A figure within spans, one strip each on one time axis that starts with the span: ten levels of a colour over the
 * sunken ground, by exact overlap. Marks on top are steps, a bar above a step says that it is slow. Dragging zooms all.
 */

import { useMemo, useRef, useState } from "preact/hooks";
import { colourOf } from "../../colour";
import { useRowWindow } from "../../dom/rows";
import { type Scale, shortened } from "../../format";
import { moved } from "../pointer/pointing";
import { type Bins, byLevel, cells, known } from "./time_bins";
import { Sized } from "../../dom/size";
import { TimeAxis } from "../axes/time_axis";
import { Tip, type TipContent, spoken } from "../pointer/tip";

export interface StripStep {
  key: string;
  /** Relative to the start of the strip, ns. */
  from: number;
  to: number;
  slow: boolean;
}

export interface StripRow {
  key: string;
  /** Firm, then quiet: run, span. */
  name: string;
  second: string;
  value: string;
  /** Starts at 0; full is 1000. */
  bins: Bins;
  steps: readonly StripStep[];
}

export interface HeatStripsProps {
  label: string;
  rows: readonly StripRow[];
  /** Meaning of the figure. */
  colour: string;
  scale: Scale;
  lit: string | null;
  kept: string | null;
  light(key: string | null): void;
  keep(key: string | null): void;
  tip(row: number, step: number): TipContent;
  /** Rows before the box scrolls. */
  most?: number;
}

const ROW = 23;
const AXIS = 22;

/** The gutter holds names and values; it grows with them up to a share of the width. */
const GUTTER = 178;
const GUTTER_FRACTION = 0.28;

/** Mean width of a letter of small type, px, and what the value and the gaps beside it take. */
const LETTER = 6.4;
const VALUE = 72;
const FULL = 1000;
const LEVELS = 10;

/** A drag shorter than this is a press. */
const DRAG_PX = 4;

interface Pointed {
  row: number;
  step: number;
}

export function HeatStrips(props: HeatStripsProps) {
  const { rows, most = 14 } = props;
  const height = Math.min(most, rows.length) * ROW;
  return <Sized height={height + AXIS}>{(width) => <Strips {...props} width={width} height={height} />}</Sized>;
}

type StripsProps = HeatStripsProps & { width: number; height: number };

function Strips(props: StripsProps) {
  const { rows, width, height } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRowWindow(box, rows.length, ROW);
  const whole = rows.reduce((most, row) => Math.max(most, row.bins.bin * row.bins.values.length), 1);
  const [zoom, setZoom] = useState<readonly [number, number]>([0, Infinity]);
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [low, high] = [zoom[0], Math.min(whole, zoom[1])];
  const gutter = gutterOf(rows, width);
  const x = (ns: number) => gutter + ((ns - low) / (high - low)) * (width - gutter);
  const at = (px: number) => low + ((px - gutter) / (width - gutter)) * (high - low);
  const choose = (next: Pointed | null) => {
    setPointed(next);
    props.light(next && rows[next.row]!.steps[next.step]!.key);
  };
  const content = pointed && rows[pointed.row]?.steps[pointed.step] ? props.tip(pointed.row, pointed.step) : null;

  const place = (event: PointerEvent) => {
    const frame = box.current!.getBoundingClientRect();
    return {
      px: event.clientX - frame.left,
      row: Math.floor((event.clientY - frame.top + box.current!.scrollTop) / ROW),
    };
  };
  const move = (event: PointerEvent) => {
    const { px, row } = place(event);
    if (drag) return setDrag([drag[0], Math.max(gutter, px)]);
    choose(stepAt(rows, row, px < gutter ? null : at(px)));
  };
  const release = () => {
    if (drag && Math.abs(drag[1] - drag[0]) >= DRAG_PX)
      setZoom([Math.max(0, at(Math.min(...drag))), Math.min(whole, at(Math.max(...drag)))]);
    else if (drag && pointed) props.keep(rows[pointed.row]!.steps[pointed.step]!.key);
    setDrag(null);
  };
  return (
    <>
      <div
        class="heatmap"
        title="Drag to zoom all strips, double click to see all"
        ref={box}
        style={{ height: `${height}px` }}
        role="img"
        aria-label={props.label}
        tabIndex={0}
        onPointerMove={move}
        onPointerDown={(event) =>
          place(event).px >= gutter && event.button === 0 && setDrag([place(event).px, place(event).px])
        }
        onPointerUp={release}
        onPointerLeave={() => (choose(null), setDrag(null))}
        onDblClick={() => setZoom([0, Infinity])}
        onBlur={() => choose(null)}
        onKeyDown={(event) => typed(event, props, pointed, choose, () => setZoom([0, Infinity]))}
      >
        <div style={{ height: `${view.above_px}px` }} />
        {rows.slice(view.first, view.end).map((row) => (
          <Strip key={row.key} row={row} width={width} gutter={gutter} low={low} high={high} {...pick(props)} />
        ))}
        <div style={{ height: `${view.below_px}px` }} />
        {drag && (
          <div
            class="zoom"
            style={{
              left: `${Math.min(...drag)}px`,
              width: `${Math.abs(drag[1] - drag[0])}px`,
              height: `${rows.length * ROW}px`,
            }}
          />
        )}
      </div>
      <TimeAxis from={low} to={high} left={gutter} width={width} scale={props.scale} />
      {content && pointed && (
        <Tip
          content={content}
          x={Math.max(gutter, Math.min(width, x(rows[pointed.row]!.steps[pointed.step]!.from)))}
          y={(pointed.row + 1) * ROW - (box.current?.scrollTop ?? 0) + 2}
          above={pointed.row * ROW - (box.current?.scrollTop ?? 0)}
          width={width}
        />
      )}
      <span class="heard" role="status">
        {content && spoken(content)}
      </span>
    </>
  );
}

const pick = ({ colour, lit, kept }: StripsProps) => ({ colour, lit, kept });

function stepAt(rows: readonly StripRow[], row: number, ns: number | null): Pointed | null {
  const step = ns === null ? -1 : (rows[row]?.steps.findIndex(({ from, to }) => ns >= from && ns < to) ?? -1);
  return step < 0 ? null : { row, step };
}

/** Left and right choose a step, up and down a strip. */
function typed(
  event: KeyboardEvent,
  props: StripsProps,
  pointed: Pointed | null,
  choose: (next: Pointed | null) => void,
  whole: () => void,
): void {
  const { rows, keep } = props;
  const here = pointed ?? { row: 0, step: -1 };
  const turn = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const steps = rows[here.row]?.steps ?? [];
  const step = moved(event.key, pointed && pointed.step, steps.length);
  if (turn !== undefined) choose(inRow(rows, here.row + turn, Math.max(0, here.step)) ?? pointed);
  else if (step !== undefined) choose({ row: here.row, step });
  else if (event.key === "Enter" || event.key === " ") keep(steps[here.step]?.key ?? null);
  else if (event.key === "Escape") choose(null), keep(null), whole();
  else return;
  event.preventDefault();
}

function inRow(rows: readonly StripRow[], row: number, step: number): Pointed | null {
  const count = rows[row]?.steps.length ?? 0;
  return count === 0 ? null : { row, step: Math.min(step, count - 1) };
}

interface StripProps {
  row: StripRow;
  width: number;
  gutter: number;
  low: number;
  high: number;
  colour: string;
  lit: string | null;
  kept: string | null;
}

function gutterOf(rows: readonly StripRow[], width: number): number {
  const longest = rows.reduce((most, row) => Math.max(most, row.name.length + row.second.length), 0);
  return Math.round(Math.max(GUTTER, Math.min(VALUE + LETTER * longest, GUTTER_FRACTION * width)));
}

function Strip({ row, width, gutter, low, high, colour, lit, kept }: StripProps) {
  const scale = (ns: number) => gutter + ((ns - low) / (high - low)) * (width - gutter);
  const still = useMemo(
    () => <StillStrip row={row} width={width} gutter={gutter} low={low} high={high} colour={colour} x={scale} />,
    [row, width, gutter, low, high, colour],
  );
  const clip = (ns: number) => Math.max(gutter, Math.min(width, scale(ns)));
  const chosen = row.steps.filter(
    (step) => (step.key === lit || step.key === kept) && step.to > low && step.from < high,
  );
  return (
    <svg class="chart" width={width} height={ROW} aria-hidden="true">
      {still}
      {chosen.map((step) => (
        <rect
          key={step.key}
          class="ring"
          x={clip(step.from)}
          y="5.500"
          width={Math.max(1, clip(step.to) - clip(step.from))}
          height="16"
        />
      ))}
    </svg>
  );
}

/** What the pointer does not change. */
function StillStrip({
  row,
  width,
  gutter,
  low,
  high,
  colour,
  x,
}: Omit<StripProps, "lit" | "kept"> & { x(ns: number): number }) {
  const all = cells(row.bins, low, high, width - gutter);
  const letters = Math.max(6, Math.floor((gutter - VALUE) / LETTER) - row.second.length);
  const visible = row.steps.filter((step) => step.to > low && step.from < high);
  const clip = (ns: number) => Math.max(gutter, Math.min(width, x(ns)));
  return (
    <>
      <text class="small own" x="0" y="18">
        {shortened(row.name, letters)}
        <tspan class="second" dx="8">
          {row.second}
        </tspan>
      </text>
      <text class="firm end" x={gutter - 12} y="18">
        {row.value}
      </text>
      <path class="empty" d={rects(known(all), x)} />
      <g class={`of-${colourOf(colour)}`}>
        {[...byLevel(all, LEVELS, FULL)].map(([level, stretches]) => (
          <path key={level} class="mark" fill-opacity={level / LEVELS} d={rects(stretches, x)} />
        ))}
      </g>
      {visible.map((step) => (
        <g key={step.key}>
          {step.from >= low && <line class="tick" x1={x(step.from)} x2={x(step.from)} y1="2" y2="21" />}
          {step.slow && (
            <line
              class="slow"
              x1={clip(step.from) + 2}
              x2={Math.max(clip(step.from) + 3, clip(step.to) - 1)}
              y1="3"
              y2="3"
            />
          )}
        </g>
      ))}
    </>
  );
}

/** On whole pixels: two levels that touch leave no seam. */
function rects(stretches: readonly (readonly [number, number])[], x: (ns: number) => number): string {
  return stretches
    .map(([from, to]) => {
      const left = Math.round(x(from));
      return `M${left} 6h${Math.max(1, Math.round(x(to)) - left)}v15h${-Math.max(1, Math.round(x(to)) - left)}z`;
    })
    .join("");
}
