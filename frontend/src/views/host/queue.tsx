import { max } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import type { HostResult, HostStep } from "../../api.gen";
import { ValueGrid, zeroAxis } from "../../charts/axes";
import { partRow, type TipContent } from "../../charts/pointer/tip";
import { useTimeZoom } from "../../charts/pointer/zoom";
import { type BinLayer, BinLayers, type Bins, binsPerPixel, maxOf, meanOf, valueAt } from "../../charts/time/time_bins";
import { ZoomedPicture } from "../../charts/time/zoomed_picture";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { Chevron } from "../../components/popup";
import { sized } from "../../dom/size";
import { textWidth } from "../../dom/text_width";
import { ns, type Scale, scaleFor, text } from "../../format";
import { sentence } from "../../phrase";
import { lengthOf, middleOf, rangeOf, type TimeRange, type TimeScale, timeScale, touches } from "../../time_range";
import { ShowAll } from "../chips";
import { shownStep, stepText, zoomWithin } from "../choices";
import { type HostPart, titleOf } from "../props";

/** The queue of one step over time, with the phases above it and the device below. */
export function QueuePicture({ result, titles, steps_by, tab, name }: HostPart) {
  const at = shownStep(result.steps, tab.state);
  const step = result.steps[at]!;
  const length = step.end_ns - step.start_ns;
  const zoom = zoomWithin(tab.state, rangeOf(step));
  const drawn = useMemo(() => levelsOf(result), [result]);
  const title = titleOf({ titles }, "queue");
  const choose = (next: HostStep) => tab.update({ step: next.name, zoom: null });
  return (
    <Picture
      title={title}
      name={`queue ${name} step ${step.name}`}
      table={() => tableOf(result, step)}
      sub={
        <>
          {stepText(step.name, steps_by)}, {zoom ? `${ns(lengthOf(zoom))} of ` : ""}
          {ns(length)} <ShowAll zoom={zoom} tab={tab} />
        </>
      }
      tools={
        <StepButtons
          steps={result.steps}
          at={at}
          choose={choose}
          open={() => tab.update({ view: "timeline", step: step.name, zoom })}
        />
      }
    >
      <QueueChart
        label={spokenOf(result, step, sentence(title))}
        from={step.start_ns}
        to={step.end_ns}
        zoom={zoom}
        setZoom={(next) => tab.update({ zoom: next, step: step.name })}
        phases={step.phase_spans.map((span) => ({
          label: span.label,
          from: span.start_ns,
          to: span.end_ns,
          inner: span.inner,
        }))}
        {...drawn}
        scale={scaleFor(length, "ns")}
      />
    </Picture>
  );
}

interface StepButtonsProps {
  steps: readonly HostStep[];
  at: number;
  choose(step: HostStep): void;
  open(): void;
}

function StepButtons({ steps, at, choose, open }: StepButtonsProps) {
  const [before, after] = [steps[at - 1], steps[at + 1]];
  return (
    <div class="step-buttons">
      {steps.length > 1 && (
        <>
          <button
            disabled={!before}
            aria-label="Step before"
            data-hint={before && `Step ${before.name}`}
            onClick={() => before && choose(before)}
          >
            <Chevron to="left" />
          </button>
          <button
            disabled={!after}
            aria-label="Step after"
            data-hint={after && `Step ${after.name}`}
            onClick={() => after && choose(after)}
          >
            <Chevron to="right" />
          </button>
        </>
      )}
      <button class="link" onClick={open}>
        Timeline
      </button>
    </div>
  );
}

/** The kinds of work of the device, and the field that contains the bins of each. */
const WORK = [
  ["kernel", "kernel_permille"],
  ["communication", "communication_permille"],
  ["memory", "copy_permille"],
] as const;

function levelsOf(result: HostResult) {
  const start = result.start_ns;
  const bins = (bin: number, values: Bins["values"]): Bins => ({ start, bin, values });
  const levels = result.device_levels;
  return {
    means: result.queue.map((level) => bins(level.bin_ns, level.mean_permille)),
    peaks: result.queue.map((level) => bins(level.bin_ns, level.peak)),
    runAhead: levels.map((level) => bins(level.bin_ns, level.run_ahead_ns)),
    device: WORK.map(([id, field]): BinLayer => {
      const work = result.segments.find((segment) => segment.id === id) ?? { label: id, colour: id, hatched: false };
      return { ...work, levels: levels.map((level) => bins(level.bin_ns, level[field])) };
    }),
  };
}

function spokenOf(result: HostResult, step: HostStep, title: string): string {
  const peak = result.launches?.queue_max ?? 0;
  const phases = step.phase_spans
    .filter((span) => !span.inner)
    .map((span) => `${span.label} ${ns(span.end_ns - span.start_ns)}`);
  return (
    `${title}. Queue depth over step ${step.name}, ${ns(step.end_ns - step.start_ns)}; in the ` +
    `span it peaks at ${peak}. ${phases.length > 0 ? `Phases: ${phases.join(", ")}. ` : ""}Below ` +
    "it, when the GPU works."
  );
}

function tableOf({ queue, start_ns: start }: HostResult, step: HostStep): TableData {
  const level = queue[queue.length - 1]!;
  const first = Math.max(0, Math.floor((step.start_ns - start) / level.bin_ns));
  const last = Math.ceil((step.end_ns - start) / level.bin_ns);
  const rows = level.mean_permille
    .slice(first, last)
    .map((mean, at) => [
      Math.max(0, start + (first + at) * level.bin_ns - step.start_ns),
      mean / 1000,
      level.peak[first + at] ?? null,
    ]);
  return {
    columns: [
      { label: "Time", unit: "ns" },
      { label: "Queue, mean", unit: "number" },
      { label: "Queue, peak", unit: "count" },
    ],
    rows,
  };
}

interface QueuePhase extends TimeRange {
  label: string;
  /** True for a part of the phase around it. */
  inner: boolean;
}

interface QueueChartProps {
  label: string;
  /** The whole range that can be shown, ns; the axis counts from `from`. */
  from: number;
  to: number;
  zoom: TimeRange | null;
  setZoom(zoom: TimeRange | null): void;
  phases: readonly QueuePhase[];
  /** Mean depth in thousandths, and peak, from coarse to fine. */
  means: readonly Bins[];
  peaks: readonly Bins[];
  /** ns; null where nothing starts. */
  runAhead: readonly Bins[];
  device: readonly BinLayer[];
  scale: Scale;
}

const GUTTER = 128;
const TOP = 18;
const QUEUE = 52;
const AHEAD_TOP = TOP + QUEUE + 10;
const AHEAD = 26;
const DEVICE_TOP = AHEAD_TOP + AHEAD + 8;
const DEVICE = 20;
const HEIGHT = DEVICE_TOP + DEVICE + 4;
const AXIS = 22;
const PERMILLE = 1000;
const GAPS = 3;

/** Over this many pixels without a start the run-ahead keeps its value: kernels longer than a pixel are not a gap. */
const CARRIED_PX = 8;

/**
 * One step: how much work waits for the device over time, how far ahead the host is, and what the device does
 * meanwhile.
 *
 *     phases      |forward            |backward            |optimizer
 *     queue       area: mean, thin line: peak
 *     run-ahead   area: mean of what starts
 *     device      coloured bins
 *
 * Dragging zooms, a double click resets; arrow keys move the instant that is read.
 */
export const QueueChart = sized<QueueChartProps>(Plot, HEIGHT + AXIS);

function Plot({ width, ...props }: QueueChartProps & { width: number }) {
  const { from, to, zoom, setZoom, scale, phases, means, peaks, runAhead, device } = props;
  const [pointer, setPointer] = useState<number | null>(null);
  const whole = { from, to };
  const zoomed = useTimeZoom({ whole, zoom, setZoom, left: GUTTER, width, hover: setPointer, press: () => {} });
  const { visible, band } = zoomed;
  const [low, high] = [visible.from, visible.to];
  const shown = useMemo(
    () => shownBins({ means, peaks, runAhead, device }, { from: low, to: high }, width),
    [means, peaks, runAhead, device, low, high, width],
  );
  const layers = useMemo(
    () => (
      <Layers
        {...shown}
        phases={phases}
        visible={{ from: low, to: high }}
        time={timeScale({ from: low, to: high }, GUTTER, width)}
      />
    ),
    [shown, phases, low, high, width],
  );
  const at = pointer === null || band || pointer < low || pointer > high ? null : pointer;
  return (
    <ZoomedPicture
      label={props.label}
      class="queue-chart"
      {...{ whole, zoomed, at, width, scale }}
      content={at === null ? null : tipOf(props, shown, at)}
      left={GUTTER}
      top={TOP}
      height={HEIGHT}
      type={(key) => zoomed.typed(key, pointer ?? middleOf(visible), { move: setPointer })}
    >
      {layers}
    </ZoomedPicture>
  );
}

/** "34.2 ms, forward": the queue, the run-ahead and the device at that instant. */
function tipOf({ from, phases, scale }: QueueChartProps, { mean, peak, ahead, work }: Shown, at: number): TipContent {
  const depth = valueAt(mean, at);
  const within = phases.filter((phase) => at >= phase.from && at < phase.to).map((phase) => phase.label);
  return {
    title: [scale.text(at - from), ...within].join(", "),
    rows: [
      { name: "Queue, mean", value: text(depth === null ? null : depth / PERMILLE, "number") },
      { name: "Queue, peak", value: text(valueAt(peak, at), "count") },
      { name: "Run-ahead, mean", value: ns(valueAt(ahead, at)) },
      ...work.map((layer) => partRow(layer, text((valueAt(layer.levels[0]!, at) ?? 0) / PERMILLE, "fraction"))),
    ],
  };
}

/** Every figure in bins of a pixel. */
interface Shown {
  mean: Bins;
  peak: Bins;
  ahead: Bins;
  work: readonly BinLayer[];
}

type Levels = Pick<QueueChartProps, "means" | "peaks" | "runAhead" | "device">;

function shownBins({ means, peaks, runAhead, device }: Levels, { from, to }: TimeRange, width: number): Shown {
  const pixels = width - GUTTER;
  const ahead = binsPerPixel(runAhead, from, to, pixels, meanOf);
  return {
    mean: binsPerPixel(means, from, to, pixels, meanOf),
    peak: binsPerPixel(peaks, from, to, pixels, maxOf),
    ahead: carried(ahead, Math.floor((CARRIED_PX * (to - from)) / pixels / ahead.bin)),
    work: device.map((layer) => ({ ...layer, levels: [binsPerPixel(layer.levels, from, to, pixels, meanOf)] })),
  };
}

interface LayersProps extends Shown {
  phases: readonly QueuePhase[];
  visible: TimeRange;
  time: TimeScale;
}

/** The part of the picture that the pointer does not change. */
function Layers(props: LayersProps) {
  return (
    <>
      <Queue {...props} />
      <RunAhead {...props} />
      <text class="small" x="0" y={DEVICE_TOP + 14}>
        GPU
      </text>
      <BinLayers layers={props.work} visible={props.visible} time={props.time} top={DEVICE_TOP} height={DEVICE} />
      <Phases {...props} />
    </>
  );
}

function Queue({ mean, peak, visible: { from, to }, time: { x, width } }: LayersProps) {
  const { end, ticks } = zeroAxis(Math.max(1, highestIn(peak, from, to)), GAPS);
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
      <ValueGrid ticks={ticks.filter(Number.isInteger)} y={y} left={GUTTER} right={width} />
      <path class="area" d={areaPath(mean, from, to, x, (value) => y(value / PERMILLE), foot)} />
      <path class="peak" d={peakPath(peak, from, to, x, y, foot)} />
    </g>
  );
}

function RunAhead({ ahead, visible: { from, to }, time: { x, width } }: LayersProps) {
  const highest = highestIn(ahead, from, to);
  const foot = AHEAD_TOP + AHEAD;
  const y = (value: number) => foot - (highest > 0 ? value / highest : 0) * AHEAD;
  return (
    <g class="of-runtime">
      <text class="small" x="0" y={AHEAD_TOP + 14}>
        Run-ahead
      </text>
      <text x="0" y={AHEAD_TOP + 27}>
        mean
      </text>
      <text class="end" x={GUTTER - 6} y={AHEAD_TOP + 9}>
        {ns(highest)}
      </text>
      <line class="tick" x1={GUTTER} x2={width} y1={foot} y2={foot} />
      <path class="area" d={areaPath(ahead, from, to, x, y, foot)} />
    </g>
  );
}

function highestIn({ start, bin, values }: Bins, from: number, to: number): number {
  const [first, end] = [Math.floor((from - start) / bin), Math.ceil((to - start) / bin)];
  return max(values.slice(Math.max(0, first), Math.max(0, end)), (value) => value) ?? 0;
}

function Phases({ phases, visible, time }: LayersProps) {
  return (
    <>
      {phases
        .filter((phase) => touches(phase, visible))
        .map((phase) => (
          <Phase
            key={`${phase.label} ${phase.from}`}
            phase={phase}
            left={time.clampedX(phase.from)}
            right={time.clampedX(phase.to)}
          />
        ))}
    </>
  );
}

/** A phase, with its length where there is room; a part of a phase is a bracket inside it. */
function Phase({ phase, left, right }: { phase: QueuePhase; left: number; right: number }) {
  const names = [`${phase.label}, ${ns(phase.to - phase.from)}`, phase.label];
  const name = names.find((each) => textWidth(each) + 8 < right - left);
  return phase.inner ? (
    <>
      <path class="tick" fill="none" d={`M${left + 3} ${TOP + 7}v-4H${right - 1}v4`} />
      {name && (
        <text class="second halo" x={left + 6} y={TOP + 19}>
          {name}
        </text>
      )}
    </>
  ) : (
    <>
      <line class="tick" x1={left} x2={left} y1="2" y2={DEVICE_TOP + DEVICE} />
      {name && (
        <text class="second" x={left + 5} y="12">
          {name}
        </text>
      )}
    </>
  );
}

/** Fills gaps of at most `longest` bins with the value before them. */
export function carried(bins: Bins, longest: number): Bins {
  const values = [...bins.values];
  let last = -1;
  values.forEach((value, at) => {
    if (value === null) return;
    if (last >= 0 && at - last - 1 <= longest) values.fill(values[last]!, last + 1, at);
    last = at;
  });
  return { ...bins, values };
}

type Place = (value: number) => number;

type Bar = readonly [from: number, to: number, value: number];

/** The bins within [low, high), cut at its ends; empty and unknown ones are left out. */
function* within({ start, bin, values }: Bins, low: number, high: number): Generator<Bar> {
  const first = Math.max(0, Math.floor((low - start) / bin));
  for (let at = first; at < values.length && start + at * bin < high; at++) {
    const value = values[at];
    if (value) yield [Math.max(low, start + at * bin), Math.min(high, start + (at + 1) * bin), value];
  }
}

export function areaPath(level: Bins, low: number, high: number, x: Place, y: Place, foot: number): string {
  const bar = ([from, to, value]: Bar) =>
    `M${x(from).toFixed(1)} ${foot}V${y(value).toFixed(1)}H${x(to).toFixed(1)}V${foot}z`;
  return Array.from(within(level, low, high), bar).join("");
}

export function peakPath(level: Bins, low: number, high: number, x: Place, y: Place, foot: number): string {
  const line = ([from, to, value]: Bar) => `M${((x(from) + x(to)) / 2).toFixed(1)} ${foot}V${y(value).toFixed(1)}`;
  return Array.from(within(level, low, high), line).join("");
}
