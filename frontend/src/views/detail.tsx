/** Details of one kernel or op: a panel, how long its calls take, and when they run in the span. */

import { max, sum } from "d3-array";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { OperatorDetail } from "../api.gen";
import { logTicks, logX, TimeAxis, thinned, ValueGrid, zeroAxis } from "../charts/axes";
import { StopsPicture } from "../charts/pointer/stops_picture";
import type { TipContent } from "../charts/pointer/tip";
import { hasRoom } from "../charts/time/zoomed_picture";
import { colourOf } from "../colour";
import { CopyButton } from "../components/copy";
import { Picture } from "../components/picture";
import { useFocusBack } from "../dom/hooks";
import { sized } from "../dom/size";
import { count, counted, ns, percent, type Scale, scaleFor, tick } from "../format";
import { capital } from "../words";

interface DetailPanelProps {
  /** "The chosen kernel" */
  label: string;
  name: string;
  title: ComponentChildren;
  class: string;
  leads: ComponentChildren;
  close(): void;
  children: ComponentChildren;
}

/** Scrolls into view when it opens; Esc closes it, and the focus returns. */
export function DetailPanel({ label, name, title, class: className, leads, close, children }: DetailPanelProps) {
  const root = useRef<HTMLElement>(null);
  useFocusBack(root);
  useEffect(() => root.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <section
      class={className}
      ref={root}
      aria-label={label}
      data-name={name}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <div class="head">
        {title}
        <CopyButton text={() => name} class="button low">
          Copy name
        </CopyButton>
        {leads}
        <button class="button low" onClick={close}>
          Close
        </button>
      </div>
      {children}
    </section>
  );
}

interface Counted {
  /** "launch", and in the plural "launches". */
  one: string;
  many: string;
  colour: string;
}

interface LengthsProps {
  of: Counted;
  lengths: OperatorDetail["lengths"];
  /** Where they run, written after their number. */
  where?: string;
  name: string;
}

/** The height of each picture of the panel, px. */
export const HEIGHT = 172;

export function LengthsPicture({ of: { one, many, colour }, lengths, where = "", name }: LengthsProps) {
  const { edges_ns: edges, count: counts } = lengths;
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  const all = counted(sum(counts), one, many);
  const title = `A ${one} takes ${ns(low) === ns(high) ? ns(low) : `${ns(low)} to ${ns(high)}`}`;
  return (
    <Picture
      title={title}
      sub={all + where}
      name={`lengths ${name}`}
      table={() => ({
        columns: [
          { label: "From", unit: "ns" },
          { label: "To", unit: "ns" },
          { label: capital(many), unit: "count" },
        ],
        rows: counts.map((each, bin) => [edges[bin]!, edges[bin + 1]!, each]),
      })}
    >
      <Histogram
        label={`${title}: ${all} by length.`}
        edges={edges}
        counts={counts}
        axis={many}
        colour={colour}
        scale={scaleFor(high, "ns")}
      />
    </Picture>
  );
}

interface CallsPictureProps {
  of: Counted;
  calls: OperatorDetail["calls"];
  span: { start_ns: number; end_ns: number; steps: readonly { name: string; start_ns: number; end_ns: number }[] };
  title: string;
  label: string;
  /** The label in a saved file of the time within a bin. */
  timeLabel: string;
  name: string;
}

export function CallsPicture({ of: { many, colour }, calls, span, title, label, timeLabel, name }: CallsPictureProps) {
  const whole = span.end_ns - span.start_ns;
  return (
    <Picture
      title={title}
      sub={`${many} by start`}
      name={`calls ${name}`}
      table={() => ({
        columns: [
          { label: "From", unit: "ns" },
          { label: capital(many), unit: "count" },
          { label: timeLabel, unit: "ns" },
        ],
        rows: calls.count.map((each, bin) => [bin * calls.bin_ns, each, calls.busy_ns[bin]!]),
      })}
    >
      <Calls
        label={label}
        bin={calls.bin_ns}
        counts={calls.count}
        busy={calls.busy_ns}
        steps={span.steps.map((step) => ({
          key: step.name,
          from: step.start_ns - span.start_ns,
          to: step.end_ns - span.start_ns,
        }))}
        whole={whole}
        axis={many}
        colour={colour}
        scale={scaleFor(whole, "ns")}
      />
    </Picture>
  );
}

/** The share of a span in which any of the calls runs. */
export const busyShare = ({ busy_ns }: OperatorDetail["calls"], span: { start_ns: number; end_ns: number }): number =>
  sum(busy_ns) / (span.end_ns - span.start_ns);

const LEFT = 40;

interface CountsProps {
  label: string;
  counts: readonly number[];
  /** What is counted: "launches". */
  axis: string;
  colour: string;
  scale: Scale;
}

interface BarsProps extends Pick<CountsProps, "label" | "counts" | "colour"> {
  width: number;
  height: number;
  class: string;
  /** Between these the bars stand, px from the top. */
  top: number;
  foot: number;
  /** The path of a bar whose end is at `y`. */
  pathOf(bar: number, y: number): string;
  /** The bar at a position from the left edge; below 0 or past the last one: none. */
  barAt(x: number): number;
  /** Where a bar is marked while it is pointed at, and its right edge. */
  placeOf(bar: number): { x: number; width: number; right: number };
  tip(bar: number): TipContent;
  /** Drawn under the mark, below the picture, and over the mark. */
  under?: ComponentChildren;
  below?: ComponentChildren;
  children?: ComponentChildren;
}

function Bars(props: BarsProps) {
  const { label, counts, colour, height, width, top, foot, pathOf, barAt, placeOf } = props;
  const [hovered, setHovered] = useState<number | null>(null);
  const { end, ticks } = zeroAxis(max(counts) ?? 0, 3);
  const y = (value: number) => foot - (value / end) * (foot - top);
  const point = (bar: number | null) => setHovered(bar !== null && bar >= 0 && bar < counts.length ? bar : null);
  const content = hovered === null ? null : props.tip(hovered);
  const chosen = hovered === null ? null : placeOf(hovered);
  return (
    <>
      <StopsPicture
        class={`chart of-${colourOf(colour)}`}
        {...{ label, width, height, content }}
        at={hovered}
        count={counts.length}
        stopAt={barAt}
        hover={point}
        tip={{ content, x: chosen?.right ?? 0, y: top }}
      >
        <ValueGrid ticks={ticks.filter(Number.isInteger)} y={y} left={LEFT} right={width} />
        <path class={props.class} d={counts.map((each, bar) => pathOf(bar, y(each))).join("")} />
        {props.under}
        {chosen && <rect class="choice" x={chosen.x} y={top} width={chosen.width} height={foot - top} />}
        {props.children}
      </StopsPicture>
      {props.below}
    </>
  );
}

const column = (from: number, to: number, top: number, foot: number): string =>
  foot - top < 0.3 ? "" : `M${from.toFixed(1)} ${foot}V${top.toFixed(1)}H${to.toFixed(1)}V${foot}z`;

interface HistogramProps extends CountsProps {
  /** Ascending; there is one more edge than counts. */
  edges: readonly number[];
}

const BELOW = 32;

/** The width of the only bar where all lengths are equal, px. */
const LONE_PX = 24;

/** The gap between bars, px. */
const APART = 1;

/** The distribution of lengths: one bar per bin. */
const Histogram = sized<HistogramProps>(Lengths, HEIGHT);

function Lengths({ edges, axis, scale, ...props }: HistogramProps & { width: number }) {
  const { counts, width } = props;
  const foot = HEIGHT - BELOW;
  const bars = placed(edges, LEFT, width - 8);
  const all = sum(counts);
  const lengthOf = (from: number, to: number) =>
    from === to ? scale.text(from) : `${scale.number(from)} to ${scale.text(to)}`;
  return (
    <Bars
      {...props}
      height={HEIGHT}
      class="mark"
      top={10}
      foot={foot}
      pathOf={(bar, y) => {
        const [from, to] = bars[bar]!;
        return column(from, Math.max(from + 1, to - APART), y, foot);
      }}
      barAt={(px) => bars.findIndex(([from, to]) => px >= from && px < to)}
      placeOf={(bar) => {
        const [from, right] = bars[bar]!;
        return { x: from - 1, width: right - from + 1, right };
      }}
      tip={(bar) => ({
        title: lengthOf(edges[bar]!, edges[bar + 1]!),
        rows: [{ name: axis, value: `${count(counts[bar]!)}, ${percent(counts[bar]! / all)}` }],
      })}
    >
      {lengthTicks(edges, scale, width).map((each) => (
        <g key={each.x}>
          <line class="tick" x1={each.x} x2={each.x} y1={foot} y2={foot + 4} />
          <text class="mid" x={each.x} y={foot + 16}>
            {each.text}
          </text>
        </g>
      ))}
      <text class="mid" x={(LEFT + width) / 2} y={foot + 30}>{`${scale.unit}, log scale`}</text>
    </Bars>
  );
}

/** Left and right edge of each bar. */
function placed(edges: readonly number[], left: number, right: number): [number, number][] {
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  if (!(high > low)) return [[(left + right - LONE_PX) / 2, (left + right + LONE_PX) / 2]];
  return edges
    .slice(1)
    .map((edge, bar) => [logX(edges[bar]!, low, high, left, right), logX(edge, low, high, left, right)]);
}

/** Round lengths as ticks under the bars, in the unit of the axis. */
function lengthTicks(edges: readonly number[], scale: Scale, width: number) {
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  const one = scale.of(1);
  const marks = logTicks(scale.of(low), scale.of(high)).map((value) => ({
    x: logX(value / one, low, high, LEFT, width - 8),
    text: tick(Number(value.toPrecision(3))),
  }));
  return thinned(marks);
}

interface CallsProps extends CountsProps {
  bin: number;
  /** How much of each bin's time its calls take. A call counts in the bin in which it starts. */
  busy: readonly number[];
  steps: readonly { key: string; from: number; to: number }[];
  whole: number;
}

const TIME_AXIS = 22;

const NAME_PX = 22;

/** When something ran in a span: one bar per time bin, as high as its number of calls; steps are marked. */
const Calls = sized<CallsProps>(Times, HEIGHT);

function Times({ bin, busy, steps, whole, axis, scale, ...props }: CallsProps & { width: number }) {
  const { counts, width } = props;
  const foot = HEIGHT - TIME_AXIS;
  const x = (ns: number) => LEFT + (ns / whole) * (width - LEFT);
  const length = (bar: number) => Math.min(bin, whole - bar * bin);
  const ends = (bar: number) => [x(bar * bin), x(bar * bin + length(bar))] as const;
  const marks = hasRoom(steps.length, width) ? steps : [];
  return (
    <Bars
      {...props}
      height={foot}
      class="mark calls"
      top={16}
      foot={foot}
      pathOf={(bar, y) => {
        const [from, to] = ends(bar);
        const right = to - from > 3 ? to - 1 : to; // a pixel of background after it where there is room
        return column(from, Math.max(from + 1, right), y, foot);
      }}
      barAt={(px) => (px < LEFT ? -1 : Math.floor((((px - LEFT) / (width - LEFT)) * whole) / bin))}
      placeOf={(bar) => {
        const [from, right] = ends(bar);
        return { x: from, width: Math.max(2, right - from), right };
      }}
      tip={(bar) => ({
        title: `${scale.number(bar * bin)} to ${scale.text(bar * bin + length(bar))}`,
        rows: [
          { name: axis, value: count(counts[bar]!) },
          { name: "of the time", value: percent(busy[bar]! / length(bar)) },
        ],
      })}
      under={marks.map((step) => (
        <g key={step.key}>
          <line class="tick" x1={x(step.from)} x2={x(step.from)} y1="2" y2={foot} />
          {x(step.to) - x(step.from) > NAME_PX && (
            <text class="second" x={x(step.from) + 4} y="11">
              {step.key}
            </text>
          )}
        </g>
      ))}
      below={<TimeAxis from={0} to={whole} left={LEFT} width={width} scale={scale} />}
    />
  );
}
