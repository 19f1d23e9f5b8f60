/**
 * Who makes which batch when: a lane per worker under the marks of the steps, and below them how many batches lie ready.
 * A drag zooms, a double click shows all again.
 */

import { useMemo, useRef, useState } from "preact/hooks";
import { colourOf, svgFill } from "../../colour";
import { type Scale, count, fine } from "../../format";
import { CHARACTER } from "../axes/labels";
import { pointerX } from "../pointer/pointing";
import { Sized } from "../../dom/size";
import { TimeAxis } from "../axes/time_axis";
import { Tip, type TipContent, spoken } from "../pointer/tip";

/** Columns of pieces, disjoint and in order of time. */
export interface MakerLane {
  key: string;
  name: string;
  start_ns: readonly number[];
  end_ns: readonly number[];
  /** Which of the parts each piece is. */
  part: readonly number[];
}

export interface MakerPart {
  label: string;
  colour: string;
  hatched: boolean;
}

export interface DepthLane {
  key: string;
  name: string;
  /** depth[i] holds from at_ns[i] until the next. */
  at_ns: readonly number[];
  depth: readonly number[];
}

export interface StepStart {
  key: string;
  at: number;
}

export interface ProductionProps {
  label: string;
  from: number;
  to: number;
  lanes: readonly MakerLane[];
  parts: readonly MakerPart[];
  depths: readonly DepthLane[];
  steps: readonly StepStart[];
  scale: Scale;
  lit: string | null;
  kept: string | null;
  light(key: string | null): void;
  keep(key: string | null): void;
  /** Of a piece, in figures. */
  piece(lane: number, piece: number): TipContent;
}

/** Room for the names of the lanes, at least, and what parts them from the lanes. */
const GUTTER = 104;
const NAME_END = 8;
const TOP = 22;
const DEPTH = 40;
const APART = 14;

/** Many workers share less height each. */
const PITCHES: readonly (readonly [workers: number, pitch: number])[] = [
  [8, 26],
  [16, 18],
  [32, 12],
  [Infinity, 8],
];

/** Lanes lower than this are named every so often. */
const NAMED_PX = 12;

/** A drag shorter than this is a press. */
const DRAG_PX = 4;

/** Arrow keys move by this share of the picture. */
const STRIDE = 0.01;

export const pitchOf = (lanes: number): number => PITCHES.find(([most]) => lanes <= most)![1];

const lanesFoot = (lanes: number): number => TOP + lanes * pitchOf(lanes);

/** A name is not cut: the longest one tells where the lanes begin. */
export const gutterOf = ({ lanes, depths }: Pick<ProductionProps, "lanes" | "depths">): number =>
  Math.max(GUTTER, ...[...lanes, ...depths].map((lane) => Math.ceil(CHARACTER * lane.name.length) + NAME_END));

const heightOf = ({ lanes, depths }: ProductionProps): number =>
  lanesFoot(lanes.length) + depths.length * (DEPTH + APART) + 2;

export function Production(props: ProductionProps) {
  return <Sized height={heightOf(props) + 22}>{(width) => <ProductionPlot {...props} width={width} />}</Sized>;
}

interface Here {
  at: number;
  lane: number | null;
}

/** The picture at a width; pure, so that it can be drawn without a browser. */
export function ProductionPlot(props: ProductionProps & { width: number }) {
  const { from, to, lanes, width, steps } = props;
  const [zoom, setZoom] = useState<readonly [number, number] | null>(null);
  const [here, setHere] = useState<Here | null>(null);
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const [low, high] = zoom ?? [from, to];
  const height = heightOf(props);
  const gutter = gutterOf(props);
  const x = (ns: number) => gutter + ((ns - low) / (high - low || 1)) * (width - gutter);
  const at = (px: number) => low + ((Math.max(gutter, Math.min(width, px)) - gutter) / (width - gutter)) * (high - low);
  const still = useMemo(() => <Still {...props} low={low} high={high} />, [lanes, props.depths, low, high, width]);
  const point = (next: Here | null) => {
    setHere(next);
    props.light(next && stepAt(steps, next.at));
  };
  const move = (event: PointerEvent) => {
    const px = pointerX(event);
    if (drag) setDrag([drag[0], Math.max(gutter, Math.min(width, px))]);
    else
      point(
        px < gutter
          ? null
          : { at: at(px), lane: laneAt(lanes.length, event.clientY - svg.current!.getBoundingClientRect().top) },
      );
  };
  const press = (event: PointerEvent) => {
    const px = pointerX(event);
    if (px < gutter || event.button !== 0) return;
    svg.current!.setPointerCapture(event.pointerId);
    setDrag([px, px]);
  };
  const release = () => {
    if (drag && Math.abs(drag[1] - drag[0]) >= DRAG_PX)
      setZoom([at(Math.min(...drag)), at(Math.max(...drag))]), point(null);
    else if (drag) props.keep(stepAt(steps, at(drag[0])));
    setDrag(null);
  };
  const tip = here === null || drag || here.at < low || here.at > high ? null : tipOf(props, here);
  return (
    <>
      <svg
        ref={svg}
        class="chart production zoomable"
        width={width}
        height={height}
        role="img"
        aria-label={props.label}
        tabIndex={0}
        onPointerMove={move}
        onPointerDown={press}
        onPointerUp={release}
        onPointerCancel={() => setDrag(null)}
        onPointerLeave={() => point(null)}
        onBlur={() => point(null)}
        onDblClick={() => setZoom(null)}
        onKeyDown={(event) => {
          const next = typedKey(
            event.key,
            here ?? { at: (low + high) / 2, lane: lanes.length ? 0 : null },
            low,
            high,
            lanes.length,
          );
          if (event.key === "Escape") point(null), setZoom(null);
          else if (event.key === "Enter" && here) props.keep(stepAt(steps, here.at));
          else if (next?.zoom) setZoom(next.zoom === "out" ? null : next.zoom);
          else if (next) point(next.here);
          else return;
          event.preventDefault();
        }}
      >
        <rect width={width} height={height} fill="transparent" />
        {still}
        <Chosen {...props} x={x} low={low} high={high} foot={height - 2} />
        {tip && <line class="here" x1={x(here!.at)} x2={x(here!.at)} y1={TOP - 4} y2={height} />}
        {drag && (
          <rect class="zoom" x={Math.min(...drag)} y={TOP} width={Math.abs(drag[1] - drag[0])} height={height - TOP} />
        )}
      </svg>
      <TimeAxis from={low - from} to={high - from} left={gutter} width={width} scale={props.scale} />
      {tip && <Tip content={tip} x={x(here!.at)} y={height + 4} width={width} above={TOP} />}
      <span class="heard" role="status">
        {tip && spoken(tip)}
      </span>
    </>
  );
}

type Typed = { here: Here; zoom?: undefined } | { zoom: readonly [number, number] | "out" } | null;

/** Left and right move in time, up and down between lanes; plus and minus zoom. */
function typedKey(key: string, { at, lane }: Here, low: number, high: number, lanes: number): Typed {
  const moved = (by: number) => Math.max(low, Math.min(high - 1, at + by * STRIDE * (high - low)));
  const other = (by: number) => (lanes === 0 ? null : Math.max(0, Math.min(lanes - 1, (lane ?? 0) + by)));
  switch (key) {
    case "ArrowRight":
      return { here: { at: moved(1), lane } };
    case "ArrowLeft":
      return { here: { at: moved(-1), lane } };
    case "ArrowDown":
      return { here: { at, lane: other(1) } };
    case "ArrowUp":
      return { here: { at, lane: other(-1) } };
    case "+":
      return { zoom: [Math.max(low, at - (high - low) / 4), Math.min(high, at + (high - low) / 4)] };
    case "-":
      return { zoom: "out" };
    default:
      return null;
  }
}

function laneAt(lanes: number, y: number): number | null {
  const lane = Math.floor((y - TOP) / pitchOf(lanes));
  return lane >= 0 && lane < lanes ? lane : null;
}

/** The last that began; ascending. */
function lastAt(starts: readonly number[], ns: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= ns) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const stepAt = (steps: readonly StepStart[], ns: number): string | null =>
  steps[
    lastAt(
      steps.map((step) => step.at),
      ns,
    )
  ]?.key ?? null;

/** The piece that holds at ns; null between two. */
export function pieceAt({ start_ns, end_ns }: MakerLane, ns: number): number | null {
  const at = lastAt(start_ns, ns);
  return at >= 0 && ns < end_ns[at]! ? at : null;
}

function tipOf({ lanes, depths, steps, from, piece }: ProductionProps, { at, lane }: Here): TipContent {
  const found = lane === null ? null : pieceAt(lanes[lane]!, at);
  const about = found === null ? { title: fine(at - from), rows: [] } : piece(lane!, found);
  const step = stepAt(steps, at);
  return {
    title: about.title,
    rows: [
      ...(lane !== null && found === null ? [{ name: lanes[lane]!.name, value: "not recorded here" }] : []),
      ...about.rows,
      ...(step === null ? [] : [{ name: "Step", value: step }]),
      ...depths.map((each) => ({ name: each.name, value: count(each.depth[lastAt(each.at_ns, at)] ?? null) })),
    ],
  };
}

type StillProps = ProductionProps & { width: number; low: number; high: number };
type X = (ns: number) => number;

function Still(props: StillProps) {
  const { lanes, depths, steps, parts, width, low, high } = props;
  const gutter = gutterOf(props);
  const x = (ns: number) => gutter + ((Math.max(low, Math.min(high, ns)) - low) / (high - low || 1)) * (width - gutter);
  const pitch = pitchOf(lanes.length);
  const every = Math.max(1, Math.ceil(NAMED_PX / pitch));
  return (
    <g>
      {lanes.map((lane, row) => (
        <Maker
          key={lane.key}
          lane={lane}
          parts={parts}
          top={TOP + row * pitch}
          pitch={pitch}
          named={row % every === 0}
          x={x}
          low={low}
          high={high}
          left={gutter}
          width={width}
        />
      ))}
      {depths.map((each, row) => (
        <Depth
          key={each.key}
          lane={each}
          top={lanesFoot(lanes.length) + APART + row * (DEPTH + APART)}
          x={x}
          low={low}
          high={high}
          left={gutter}
          width={width}
        />
      ))}
      <StepLines steps={steps} x={x} low={low} high={high} foot={heightOf(props) - 2} />
    </g>
  );
}

interface MakerProps {
  lane: MakerLane;
  parts: readonly MakerPart[];
  top: number;
  pitch: number;
  named: boolean;
  x: X;
  low: number;
  high: number;
  left: number;
  width: number;
}

function Maker({ lane, parts, top, pitch, named, x, low, high, left, width }: MakerProps) {
  const thick = pitch - (pitch >= NAMED_PX ? 4 : 1);
  return (
    <g>
      {named && (
        <text class="small" x="0" y={top + thick / 2 + 4}>
          {lane.name}
        </text>
      )}
      <rect class="empty" x={left} y={top} width={width - left} height={thick} />
      {parts.map(({ colour, hatched }, part) => {
        const drawn = shapes(lane, part, top, thick, x, low, high);
        if (!drawn) return null;
        return hatched ? (
          <path key={part} class="idle" d={drawn} style={{ fill: svgFill(colour, true) }} />
        ) : (
          <g key={part} class={`of-${colourOf(colour)}`}>
            <path class="mark" d={drawn} />
          </g>
        );
      })}
    </g>
  );
}

/** A pixel of ground before each piece that can spare one: batches stay apart. */
function shapes(
  { start_ns, end_ns, part: parts }: MakerLane,
  part: number,
  top: number,
  thick: number,
  x: X,
  low: number,
  high: number,
): string {
  let drawn = "";
  for (let at = Math.max(0, lastAt(start_ns, low)); at < start_ns.length && start_ns[at]! < high; at++) {
    if (parts[at] !== part || end_ns[at]! <= low) continue;
    const [left, right] = [x(start_ns[at]!), x(end_ns[at]!)];
    const gap = right - left > 4 ? 1 : 0;
    drawn += `M${(left + gap).toFixed(1)} ${top}h${Math.max(0.5, right - left - gap).toFixed(1)}v${thick}H${(left + gap).toFixed(1)}z`;
  }
  return drawn;
}

function Depth({
  lane: { name, at_ns, depth },
  top,
  x,
  low,
  high,
  left,
  width,
}: {
  lane: DepthLane;
  top: number;
  x: X;
  low: number;
  high: number;
  left: number;
  width: number;
}) {
  const most = Math.max(
    1,
    depth.reduce((a, b) => Math.max(a, b), 0),
  );
  const y = (value: number) => top + DEPTH - (value / most) * DEPTH;
  let line = "";
  for (let at = Math.max(0, lastAt(at_ns, low)); at < at_ns.length && at_ns[at]! < high; at++)
    line += `${line ? "L" : "M"}${x(at_ns[at]!).toFixed(1)} ${y(depth[at]!).toFixed(1)}H${x(at_ns[at + 1] ?? high).toFixed(1)}`;
  const first = Math.max(low, at_ns[0] ?? low);
  return (
    <g>
      <text class="small" x="0" y={top + DEPTH / 2 + 4}>
        {name}
      </text>
      <line class="grid" x1={left} x2={width} y1={top} y2={top} />
      {line && <path class="depth" d={`${line}V${top + DEPTH}H${x(first).toFixed(1)}z`} />}
      {line && <path class="depth-line" d={line} />}
      <line class="tick" x1={left} x2={width} y1={top + DEPTH} y2={top + DEPTH} />
      <text class="end" x={left - 6} y={top + 4}>
        {count(most)}
      </text>
      <text class="end" x={left - 6} y={top + DEPTH + 4}>
        0
      </text>
    </g>
  );
}

/** Marks closer than this would be a grey band. */
const MARK_PX = 4;

/** And closer ones than this are faint. */
const FIRM_PX = 16;

function StepLines({
  steps,
  x,
  low,
  high,
  foot,
}: {
  steps: readonly StepStart[];
  x: X;
  low: number;
  high: number;
  foot: number;
}) {
  const shown = steps.filter((step) => step.at >= low && step.at < high);
  const pace = shown.length < 2 ? Infinity : (x(shown[shown.length - 1]!.at) - x(shown[0]!.at)) / (shown.length - 1);
  if (pace < MARK_PX) return null;
  let free = -Infinity;
  return (
    <g>
      {shown.map((step, at) => {
        const left = x(step.at);
        const text = at === 0 ? `step ${step.key}` : step.key;
        const named = left + 4 >= free && left + CHARACTER * text.length <= x(high);
        if (named) free = left + 12 + CHARACTER * text.length;
        return (
          <g key={step.key}>
            <line class={pace < FIRM_PX ? "grid" : "tick"} x1={left} x2={left} y1={named ? 4 : TOP - 4} y2={foot} />
            {named && (
              <text class="second" x={left + 4} y="13">
                {text}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}

/** Rings around the steps that are chosen, here or in another picture. */
function Chosen({
  steps,
  lit,
  kept,
  x,
  low,
  high,
  foot,
  to,
}: ProductionProps & { x: X; low: number; high: number; foot: number }) {
  return (
    <>
      {steps.map((step, at) => {
        const end = steps[at + 1]?.at ?? to;
        if ((step.key !== lit && step.key !== kept) || end <= low || step.at >= high) return null;
        const left = x(Math.max(low, step.at));
        return (
          <rect
            key={step.key}
            class="ring"
            x={left}
            y={TOP - 4}
            width={Math.max(1, x(Math.min(high, end)) - left)}
            height={foot - TOP + 4}
          />
        );
      })}
    </>
  );
}
