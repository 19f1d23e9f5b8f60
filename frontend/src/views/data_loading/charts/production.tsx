/**
 * Which worker produces which batch when: a lane per worker under the marks of the steps, and below them how many
 * batches are ready. A drag zooms, a double click shows everything again.
 */

import { bisectRight, max } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import type { StopSelection } from "../../../charts/pointer/pointing";
import type { TipContent } from "../../../charts/pointer/tip";
import { useTimeZoom } from "../../../charts/pointer/zoom";
import { StepRings, ZoomedPicture } from "../../../charts/time/zoomed_picture";
import { colourOf, type Filled, svgFill } from "../../../colour";
import { sized } from "../../../dom/size";
import { textWidth, widestOf } from "../../../dom/text_width";
import { count, fine, type Scale } from "../../../format";
import { middleOf, type TimeRange, type TimeScale, timeScale } from "../../../time_range";

interface ProductionProps extends Lanes, StopSelection, TimeRange {
  label: string;
  parts: readonly LanePart[];
  steps: readonly StepStart[];
  scale: Scale;
  segmentTip(lane: number, segment: number): TipContent;
}

const AXIS = 22;

export const Production = sized<ProductionProps>(ProductionPlot, (props) => heightOf(props) + AXIS);

interface Place {
  ns: number;
  lane: number | null;
}

/** The picture at a given width; pure, so that it can be drawn without a browser. */
export function ProductionPlot(props: ProductionProps & { width: number }) {
  const { from, to, lanes, depths, parts, steps, width, hovered, selected } = props;
  const [zoom, setZoom] = useState<TimeRange | null>(null);
  const [place, setPlace] = useState<Place | null>(null);
  const height = heightOf(props);
  const gutter = gutterOf(props);
  const point = (next: Place | null) => {
    setPlace(next);
    props.hover(next && stepAt(steps, next.ns));
  };
  const laneUnder = (event: PointerEvent) =>
    laneAt(lanes.length, event.clientY - (event.currentTarget as Element).getBoundingClientRect().top);
  const zoomed = useTimeZoom({
    whole: { from, to },
    zoom,
    setZoom,
    left: gutter,
    width,
    hover: (ns, event) => point(ns === null ? null : { ns, lane: laneUnder(event as PointerEvent) }),
    press: (ns) => props.select(stepAt(steps, ns)),
  });
  const { visible, time, band } = zoomed;
  const [low, high] = [visible.from, visible.to];
  const drawn = useMemo(
    () => (
      <ProductionLanes lanes={lanes} depths={depths} parts={parts} steps={steps} from={low} to={high} width={width} />
    ),
    [lanes, depths, parts, steps, low, high, width],
  );
  const type = (key: string): boolean => {
    const now = place ?? { ns: middleOf(visible), lane: lanes.length ? 0 : null };
    const lane = (by: number) => (lanes.length ? Math.max(0, Math.min(lanes.length - 1, (now.lane ?? 0) + by)) : null);
    if (key === "ArrowDown" || key === "ArrowUp") {
      point({ ...now, lane: lane(key === "ArrowDown" ? 1 : -1) });
      return true;
    }
    return zoomed.typed(key, now.ns, {
      move: (ns) => point(ns === null ? null : { ...now, ns }),
      choose: place ? () => props.select(stepAt(steps, place.ns)) : undefined,
    });
  };
  const shown = place === null || band || place.ns < low || place.ns > high ? null : place;
  return (
    <ZoomedPicture
      label={props.label}
      class="production"
      whole={{ from, to }}
      zoomed={zoomed}
      at={shown?.ns ?? null}
      content={shown && tipOf(props, shown)}
      left={gutter}
      top={TOP}
      hereTop={TOP - 4}
      width={width}
      height={height}
      scale={props.scale}
      type={type}
    >
      {drawn}
      <StepRings
        steps={steps.map(({ key, at }, place) => ({ key, from: at, to: steps[place + 1]?.at ?? to }))}
        {...{ hovered, selected, visible, time }}
        top={TOP - 4}
        height={height - 2 - TOP + 4}
      />
    </ZoomedPicture>
  );
}

const stepAt = (steps: readonly StepStart[], ns: number): string | null =>
  steps[
    lastAt(
      steps.map((step) => step.at),
      ns,
    )
  ]?.key ?? null;

function tipOf({ lanes, depths, steps, from, segmentTip }: ProductionProps, { ns, lane }: Place): TipContent {
  const segment = lane === null ? null : segmentAt(lanes[lane]!, ns);
  const about = segment === null ? { title: fine(ns - from), rows: [] } : segmentTip(lane!, segment);
  const unrecorded = lane !== null && segment === null ? [{ name: lanes[lane]!.name, value: "not recorded here" }] : [];
  const step = stepAt(steps, ns);
  const ready = depths.map((each) => ({ name: each.name, value: count(each.depth[lastAt(each.at_ns, ns)] ?? null) }));
  return {
    title: about.title,
    rows: [...unrecorded, ...about.rows, ...(step === null ? [] : [{ name: "Step", value: step }]), ...ready],
  };
}

/** Segments as columns, disjoint and in time order. */
interface WorkerLane {
  key: string;
  name: string;
  start_ns: readonly number[];
  end_ns: readonly number[];
  /** The index of each segment's part. */
  part: readonly number[];
}

interface LanePart extends Filled {
  label: string;
  /** Leaves the space of its segments empty. */
  hidden?: boolean;
}

interface DepthLane {
  key: string;
  name: string;
  /** depth[i] applies from at_ns[i] until the next entry. */
  at_ns: readonly number[];
  depth: readonly number[];
}

interface StepStart {
  key: string;
  at: number;
}

interface Lanes {
  lanes: readonly WorkerLane[];
  depths: readonly DepthLane[];
}

/** Least width for the names of the lanes, and the gap between them and the lanes. */
const GUTTER = 104;
const NAME_END = 8;
const TOP = 22;
const DEPTH = 40;
const APART = 14;

/** The more workers, the lower each row. */
const ROW_HEIGHTS: readonly (readonly [workers: number, px: number])[] = [
  [8, 26],
  [16, 18],
  [32, 12],
  [Infinity, 8],
];

/** Of lanes lower than this only every n-th has a name. */
const NAMED_PX = 12;

export const rowHeight = (lanes: number): number => ROW_HEIGHTS.find(([workers]) => lanes <= workers)![1];

const lanesFoot = (lanes: number): number => TOP + lanes * rowHeight(lanes);

/** Names are not cut off: the longest one determines where the lanes begin. */
export const gutterOf = ({ lanes, depths }: Lanes): number =>
  Math.max(GUTTER, Math.ceil(widestOf([...lanes, ...depths].map((lane) => lane.name))) + NAME_END);

const heightOf = ({ lanes, depths }: Lanes): number => lanesFoot(lanes.length) + depths.length * (DEPTH + APART) + 2;

/** The worker lane at a y position; null above and below the lanes. */
function laneAt(lanes: number, y: number): number | null {
  const lane = Math.floor((y - TOP) / rowHeight(lanes));
  return lane >= 0 && lane < lanes ? lane : null;
}

/** The index of the last one that has begun; -1 before the first. */
const lastAt = (starts: readonly number[], ns: number): number => bisectRight(starts, ns) - 1;

/** The segment at an instant; null between two. */
export function segmentAt({ start_ns, end_ns }: WorkerLane, ns: number): number | null {
  const at = lastAt(start_ns, ns);
  return at >= 0 && ns < end_ns[at]! ? at : null;
}

interface ProductionLanesProps extends Lanes, TimeRange {
  parts: readonly LanePart[];
  steps: readonly StepStart[];
  width: number;
}

function ProductionLanes({ lanes, depths, parts, steps, from, to, width }: ProductionLanesProps) {
  const time = timeScale({ from, to }, gutterOf({ lanes, depths }), width);
  const placed = { visible: { from, to }, time };
  const height = rowHeight(lanes.length);
  const every = Math.max(1, Math.ceil(NAMED_PX / height));
  return (
    <g>
      {lanes.map((lane, row) => (
        <Worker
          key={lane.key}
          lane={lane}
          parts={parts}
          top={TOP + row * height}
          height={height}
          named={row % every === 0}
          {...placed}
        />
      ))}
      {depths.map((each, row) => (
        <Depth key={each.key} lane={each} top={lanesFoot(lanes.length) + APART + row * (DEPTH + APART)} {...placed} />
      ))}
      <StepLines steps={steps} foot={heightOf({ lanes, depths }) - 2} {...placed} />
    </g>
  );
}

interface Placed {
  visible: TimeRange;
  time: TimeScale;
}

interface WorkerProps extends Placed {
  lane: WorkerLane;
  parts: readonly LanePart[];
  top: number;
  height: number;
  named: boolean;
}

function Worker({ lane, parts, top, height, named, visible, time }: WorkerProps) {
  const thick = height - (height >= NAMED_PX ? 4 : 1);
  return (
    <g>
      {named && (
        <text class="small" x="0" y={top + thick / 2 + 4}>
          {lane.name}
        </text>
      )}
      <rect class="empty" x={time.left} y={top} width={time.width - time.left} height={thick} />
      {parts.map(({ colour, hatched, label, hidden }, part) => {
        if (hidden) return null;
        const path = segmentsPath(lane, part, top, thick, visible, time);
        if (!path) return null;
        return hatched ? (
          <path key={label} class="idle" d={path} style={{ fill: svgFill(colour, true) }} />
        ) : (
          <g key={label} class={`of-${colourOf(colour)}`}>
            <path class="mark" d={path} />
          </g>
        );
      })}
    </g>
  );
}

/** Leaves a pixel of background before each segment that is wide enough, so that batches stay distinct. */
function segmentsPath(
  { start_ns, end_ns, part: parts }: WorkerLane,
  part: number,
  top: number,
  thick: number,
  { from, to }: TimeRange,
  { clampedX }: TimeScale,
): string {
  let path = "";
  for (let at = Math.max(0, lastAt(start_ns, from)); at < start_ns.length && start_ns[at]! < to; at++) {
    if (parts[at] !== part || end_ns[at]! <= from) continue;
    const [left, right] = [clampedX(start_ns[at]!), clampedX(end_ns[at]!)];
    const start = (left + (right - left > 4 ? 1 : 0)).toFixed(1);
    path += `M${start} ${top}h${Math.max(0.5, right - Number(start)).toFixed(1)}v${thick}H${start}z`;
  }
  return path;
}

function Depth({ lane: { name, at_ns, depth }, top, visible, time }: Placed & { lane: DepthLane; top: number }) {
  const { left, width, clampedX: x } = time;
  const deepest = Math.max(1, max(depth) ?? 0);
  const y = (value: number) => top + DEPTH - (value / deepest) * DEPTH;
  let line = "";
  for (let at = Math.max(0, lastAt(at_ns, visible.from)); at < at_ns.length && at_ns[at]! < visible.to; at++) {
    const end = x(at_ns[at + 1] ?? visible.to).toFixed(1);
    line += `${line ? "L" : "M"}${x(at_ns[at]!).toFixed(1)} ${y(depth[at]!).toFixed(1)}H${end}`;
  }
  const first = Math.max(visible.from, at_ns[0] ?? visible.from);
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
        {count(deepest)}
      </text>
      <text class="end" x={left - 6} y={top + DEPTH + 4}>
        0
      </text>
    </g>
  );
}

/** Marks closer together than this would merge into a grey band. */
const MARK_PX = 4;

/** Marks closer together than this are faint. */
const FIRM_PX = 16;

function StepLines({ steps, foot, visible, time }: Placed & { steps: readonly StepStart[]; foot: number }) {
  const shown = steps.filter((step) => step.at >= visible.from && step.at < visible.to);
  const [first, last] = [shown[0], shown[shown.length - 1]];
  const pace = first && last && first !== last ? (time.x(last.at) - time.x(first.at)) / (shown.length - 1) : Infinity;
  if (pace < MARK_PX) return null;
  let free = -Infinity;
  return (
    <g>
      {shown.map((step, at) => {
        const left = time.x(step.at);
        const text = at === 0 ? `step ${step.key}` : step.key;
        const named = left + 4 >= free && left + textWidth(text) <= time.width;
        if (named) free = left + 12 + textWidth(text);
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
