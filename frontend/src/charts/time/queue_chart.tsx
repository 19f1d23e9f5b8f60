/**
 * One step: how much work waits for the device over time, how far ahead the host is, and what the device does meanwhile.
 *
 *     phases      |forward            |backward            |optimizer
 *     queue       area: mean, thin line: peak
 *     run-ahead   area: mean of what starts
 *     device      strip
 *
 * Dragging zooms, double click resets; arrow keys move the reading.
 */

import { useMemo, useRef, useState } from "preact/hooks";
import { type Scale, ns, text, tick } from "../../format";
import { CHARACTER } from "../axes/labels";
import { pointerX } from "../pointer/pointing";
import { type Bins, type Zoom, valueAt } from "./time_bins";
import { Sized } from "../../dom/size";
import { type StackLayer, StripLayers } from "./bin_layers";
import { areaPath, binsPerPixel, carried, meanOf, mostOf, peakPath } from "./queue_paths";
import { niceEnd, ticks } from "../axes/ticks";
import { TimeAxis } from "../axes/time_axis";
import { Tip, type TipContent, spoken } from "../pointer/tip";
import { colourOf } from "../../colour";

export interface QueuePhase {
  label: string;
  from: number;
  to: number;
  /** Part of the phase around it. */
  inner: boolean;
}

export interface QueueStripProps {
  label: string;
  /** The whole of what can be shown, ns; the axis counts from `from`. */
  from: number;
  to: number;
  zoom: Zoom | null;
  setZoom(zoom: Zoom | null): void;
  phases: readonly QueuePhase[];
  /** Mean depth in thousandths, and peak, coarse to fine. */
  means: readonly Bins[];
  peaks: readonly Bins[];
  /** ns; null where nothing starts. */
  runAhead: readonly Bins[];
  device: readonly StackLayer[];
  scale: Scale;
}

const GUTTER = 128;
const TOP = 20;
const QUEUE = 66;
const AHEAD_TOP = TOP + QUEUE + 10;
const AHEAD = 28;
const DEVICE_TOP = AHEAD_TOP + AHEAD + 8;
const DEVICE = 20;
const HEIGHT = DEVICE_TOP + DEVICE + 4;
const PERMILLE = 1000;
const MOST_TICKS = 3;

/** Pixels without a start that the run-ahead is carried over: kernels that are longer than a pixel are no gap. */
const CARRIED_PX = 8;

/** A drag shorter than this is a press. */
const DRAG_PX = 4;

/** Arrow keys move by this share of the picture. */
const STRIDE = 0.01;

export function QueueStrip(props: QueueStripProps) {
  return <Sized height={HEIGHT + 22}>{(width) => <Drawn {...props} width={width} />}</Sized>;
}

type DrawnProps = QueueStripProps & { width: number };

function Drawn(props: DrawnProps) {
  const { from, to, zoom, setZoom, width, scale } = props;
  const [here, setHere] = useState<number | null>(null);
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const [low, high] = zoom ?? [from, to];
  const x = (at: number) => GUTTER + ((at - low) / (high - low || 1)) * (width - GUTTER);
  const at = (px: number) => low + ((Math.max(GUTTER, Math.min(width, px)) - GUTTER) / (width - GUTTER)) * (high - low);
  const shown = useMemo(() => shownBins(props, low, high), [props.means, props.device, low, high, width]);
  const still = useMemo(() => <Still {...props} {...shown} low={low} high={high} />, [shown, props.phases]);
  const move = (event: PointerEvent) => {
    const px = pointerX(event);
    if (drag) setDrag([drag[0], Math.max(GUTTER, Math.min(width, px))]);
    else setHere(px < GUTTER ? null : at(px));
  };
  const press = (event: PointerEvent) => {
    const px = pointerX(event);
    if (px < GUTTER || event.button !== 0) return;
    svg.current!.setPointerCapture(event.pointerId);
    setDrag([px, px]);
  };
  const release = () => {
    if (drag && Math.abs(drag[1] - drag[0]) >= DRAG_PX) setZoom([at(Math.min(...drag)), at(Math.max(...drag))]);
    setDrag(null);
  };
  const type = (key: string): boolean => {
    const now = here ?? (low + high) / 2;
    const clamp = (value: number) => Math.max(low, Math.min(high - 1, value));
    if (key === "ArrowRight" || key === "ArrowLeft")
      setHere(clamp(now + (key === "ArrowRight" ? 1 : -1) * STRIDE * (high - low)));
    else if (key === "+") setZoom([Math.max(low, now - (high - low) / 4), Math.min(high, now + (high - low) / 4)]);
    else if (key === "-") setZoom(null);
    else if (key === "Escape") setHere(null), setZoom(null);
    else return false;
    return true;
  };
  const tip = here === null || drag || here < low || here > high ? null : tipOf(props, shown, here);
  return (
    <>
      <svg
        ref={svg}
        class="chart queue-chart zoomable"
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={props.label}
        tabIndex={0}
        onPointerMove={move}
        onPointerDown={press}
        onPointerUp={release}
        onPointerCancel={() => setDrag(null)}
        onPointerLeave={() => setHere(null)}
        onBlur={() => setHere(null)}
        onDblClick={() => setZoom(null)}
        onKeyDown={(event) => type(event.key) && event.preventDefault()}
      >
        <rect width={width} height={HEIGHT} fill="transparent" />
        {still}
        {tip && <line class="here" x1={x(here!)} x2={x(here!)} y1={TOP} y2={HEIGHT} />}
        {drag && (
          <rect class="zoom" x={Math.min(...drag)} y={TOP} width={Math.abs(drag[1] - drag[0])} height={HEIGHT - TOP} />
        )}
      </svg>
      <TimeAxis from={low - from} to={high - from} left={GUTTER} width={width} scale={scale} />
      {tip && <Tip content={tip} x={x(here!)} y={HEIGHT + 4} width={width} above={TOP} />}
      <span class="heard" role="status">
        {tip && spoken(tip)}
      </span>
    </>
  );
}

/** "34.2 ms, forward": the queue, the run-ahead and the device at that instant. */
function tipOf({ from, phases, scale }: QueueStripProps, { mean, peak, ahead, work }: Shown, here: number): TipContent {
  const depth = valueAt(mean, here);
  const within = phases.filter((phase) => here >= phase.from && here < phase.to).map((phase) => phase.label);
  const mark = (layer: StackLayer) => (
    <i class={`swatch of-${colourOf(layer.colour)} fill${layer.hatched ? " hatch" : ""}`} />
  );
  return {
    title: [scale.text(here - from), ...within].join(", "),
    rows: [
      { name: "Queue, mean", value: text(depth === null ? null : depth / PERMILLE, "number") },
      { name: "Queue, peak", value: text(valueAt(peak, here), "count") },
      { name: "Run-ahead, mean", value: ns(valueAt(ahead, here)) },
      ...work.map((layer) => ({
        mark: mark(layer),
        name: layer.name,
        value: text((valueAt(layer.levels[0]!, here) ?? 0) / PERMILLE, "fraction"),
      })),
    ],
  };
}

/** Every figure in bins of a pixel. */
interface Shown {
  mean: Bins;
  peak: Bins;
  ahead: Bins;
  work: readonly StackLayer[];
}

function shownBins({ means, peaks, runAhead, device, width }: DrawnProps, low: number, high: number): Shown {
  const pixels = width - GUTTER;
  const ahead = binsPerPixel(runAhead, low, high, pixels, meanOf);
  return {
    mean: binsPerPixel(means, low, high, pixels, meanOf),
    peak: binsPerPixel(peaks, low, high, pixels, mostOf),
    ahead: carried(ahead, Math.floor((CARRIED_PX * (high - low)) / pixels / ahead.bin)),
    work: device.map((layer) => ({ ...layer, levels: [binsPerPixel(layer.levels, low, high, pixels, meanOf)] })),
  };
}

type Window = DrawnProps & Shown & { low: number; high: number };

/** What the pointer does not change. */
function Still(props: Window) {
  const { width, low, high, work } = props;
  const x = (at: number) => GUTTER + ((at - low) / (high - low || 1)) * (width - GUTTER);
  return (
    <>
      <Queue {...props} x={x} />
      <RunAhead {...props} x={x} />
      <text class="small" x="0" y={DEVICE_TOP + 14}>
        GPU
      </text>
      <StripLayers
        layers={work}
        low={low}
        high={high}
        left={GUTTER}
        width={width}
        top={DEVICE_TOP}
        tall={DEVICE}
        x={x}
      />
      <Phases {...props} x={x} />
    </>
  );
}

type Placed = Window & { x(at: number): number };

function Queue({ mean, peak, low, high, width, x }: Placed) {
  const most = visible(peak, low, high).reduce((a, b) => Math.max(a, b), 0);
  const end = niceEnd(Math.max(1, most), MOST_TICKS);
  const foot = TOP + QUEUE;
  const y = (depth: number) => foot - (depth / end) * QUEUE;
  return (
    <g class="of-runtime">
      <text class="small" x="0" y={TOP + 12}>
        Queue depth
      </text>
      <text x="0" y={TOP + 26}>
        not yet started;
      </text>
      <text x="0" y={TOP + 39}>
        thin line: peak
      </text>
      {ticks(0, end, MOST_TICKS)
        .filter(Number.isInteger)
        .map((value) => (
          <g key={value}>
            <line class={value === 0 ? "tick" : "grid"} x1={GUTTER} x2={width} y1={y(value)} y2={y(value)} />
            <text class="end" x={GUTTER - 6} y={y(value) + 4}>
              {tick(value)}
            </text>
          </g>
        ))}
      <path class="area" d={areaPath(mean, low, high, x, (value) => y(value / PERMILLE), foot)} />
      <path class="peak" d={peakPath(peak, low, high, x, y, foot)} />
    </g>
  );
}

function RunAhead({ ahead, low, high, width, x }: Placed) {
  const most = visible(ahead, low, high).reduce((a, b) => Math.max(a, b), 0);
  const foot = AHEAD_TOP + AHEAD;
  const y = (value: number) => foot - (most > 0 ? value / most : 0) * AHEAD;
  return (
    <g class="of-runtime">
      <text class="small" x="0" y={AHEAD_TOP + 14}>
        Run-ahead
      </text>
      <text x="0" y={AHEAD_TOP + 27}>
        mean
      </text>
      <text class="end" x={GUTTER - 6} y={AHEAD_TOP + 9}>
        {ns(most)}
      </text>
      <line class="tick" x1={GUTTER} x2={width} y1={foot} y2={foot} />
      <path class="area" d={areaPath(ahead, low, high, x, y, foot)} />
    </g>
  );
}

const visible = ({ start, bin, values }: Bins, low: number, high: number): number[] =>
  values
    .slice(Math.max(0, Math.floor((low - start) / bin)), Math.max(0, Math.ceil((high - start) / bin)))
    .map((value) => value ?? 0);

function Phases({ phases, low, high, width, x }: Placed) {
  const shown = phases.filter((phase) => phase.to > low && phase.from < high);
  const inside = (at: number) => Math.max(GUTTER, Math.min(width, x(at)));
  return (
    <>
      {shown.map((phase) => {
        const [left, right] = [inside(phase.from), inside(phase.to)];
        const written = [`${phase.label}, ${ns(phase.to - phase.from)}`, phase.label].find(
          (each) => CHARACTER * each.length + 8 < right - left,
        );
        return phase.inner ? (
          <g key={`${phase.label} ${phase.from}`}>
            <path class="tick" fill="none" d={`M${left + 3} ${TOP + 7}v-4H${right - 1}v4`} />
            {written && (
              <text class="second halo" x={left + 6} y={TOP + 19}>
                {written}
              </text>
            )}
          </g>
        ) : (
          <g key={`${phase.label} ${phase.from}`}>
            <line class="tick" x1={left} x2={left} y1="2" y2={DEVICE_TOP + DEVICE} />
            {written && (
              <text class="second" x={left + 5} y="12">
                {written}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}
