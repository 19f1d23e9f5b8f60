/**
 * How much a device has allocated and reserved over time, under the steps and their phases.
 *
 *     steps       |5                   |6                   |
 *     phases      |forward |backward   |forward |backward   |
 *     curve       area: allocated, from the least to the most of each bin; line: reserved; between them: cached, unused
 *     driver      a tick for each call of the allocator to the driver
 *
 * Dragging zooms, a double click resets, a click or Enter chooses an instant; arrow keys move the instant that is read.
 */

import { max } from "d3-array";
import { useState } from "preact/hooks";
import { ValueGrid, zeroAxis } from "../../../charts/axes";
import type { TipContent } from "../../../charts/pointer/tip";
import { useTimeZoom } from "../../../charts/pointer/zoom";
import { ZoomedPicture } from "../../../charts/time/zoomed_picture";
import { svgFill } from "../../../colour";
import { sized } from "../../../dom/size";
import { textWidth } from "../../../dom/text_width";
import { bytes, fine, type Scale, scaleFor } from "../../../format";
import { middleOf, type TimeRange, type TimeScale, touches } from "../../../time_range";

interface NamedRange extends TimeRange {
  label: string;
}

interface MemoryChartProps {
  label: string;
  whole: TimeRange;
  zoom: TimeRange | null;
  setZoom(zoom: TimeRange | null): void;
  steps: readonly NamedRange[];
  phases: readonly NamedRange[];
  curve: Curve;
  /** The peak; null where it is outside the picture. */
  peak: { at: number; bytes: number };
  calls: readonly { label: string; at: number }[];
  instant: number | null;
  choose(at: number): void;
  scale: Scale;
}

const GUTTER = 72;
const STEPS = 14;
const TOP = 32;
const CURVE = 150;
const FOOT = TOP + CURVE;
const HEIGHT = FOOT + 12;
const AXIS = 22;
const GAPS = 4;
const NEAR_PX = 3;

export const MemoryChart = sized<MemoryChartProps>(Plot, HEIGHT + AXIS);

function Plot({ width, ...props }: MemoryChartProps & { width: number }) {
  const { whole, zoom, setZoom, choose, scale, instant } = props;
  const [pointer, setPointer] = useState<number | null>(null);
  const zoomed = useTimeZoom({ whole, zoom, setZoom, left: GUTTER, width, hover: setPointer, press: choose });
  const { visible, time, band } = zoomed;
  const at = pointer === null || band || pointer < visible.from || pointer > visible.to ? null : pointer;
  return (
    <ZoomedPicture
      label={props.label}
      class="memory-chart"
      {...{ whole, zoomed, at, width, scale }}
      content={at === null ? null : tipOf(props, at, time)}
      left={GUTTER}
      top={TOP}
      height={HEIGHT}
      type={(key) => zoomed.typed(key, pointer ?? instant ?? middleOf(visible), { move: setPointer, choose })}
    >
      <Layers {...props} visible={visible} time={time} />
    </ZoomedPicture>
  );
}

function tipOf({ whole, steps, phases, curve, calls }: MemoryChartProps, at: number, time: TimeScale): TipContent {
  const within = (all: readonly NamedRange[]) => all.find(({ from, to }) => at >= from && at < to)?.label;
  const { least, most, reserved } = valuesAt(curve, at);
  const step = within(steps);
  const near = calls.filter((call) => Math.abs(time.x(call.at) - time.x(at)) <= NEAR_PX).map(({ label }) => label);
  return {
    title: [fine(at - whole.from), step && `step ${step}`, within(phases)].filter(Boolean).join(", "),
    rows: [
      { name: "Allocated", value: least === most ? bytes(most) : `${bytes(least)} to ${bytes(most)}` },
      ...(reserved === null
        ? []
        : [
            { name: "Reserved", value: bytes(reserved) },
            { name: "Cached, unused", value: bytes(reserved - (most ?? 0)) },
          ]),
      ...[...new Set(near)].map((name) => ({ name: "Call of the driver", value: name })),
    ],
    act: "A press shows what is alive then.",
  };
}

interface LayersProps extends MemoryChartProps {
  visible: TimeRange;
  time: TimeScale;
}

function Layers({ curve, visible, time, steps, phases, peak, calls, instant }: LayersProps) {
  const highest = Math.max(1, max([...curve.most, ...curve.reservedMost]) ?? 1);
  const scale = scaleFor(highest, "bytes");
  const { end, ticks } = zeroAxis(scale.of(highest), GAPS);
  const y = (value: number) => FOOT - (Math.max(0, scale.of(value)) / end) * CURVE;
  const place: Band = { x: time.clampedX, y, foot: FOOT };
  return (
    <>
      <Names ranges={steps} visible={visible} time={time} y={STEPS - 3} firm />
      <Names ranges={phases} visible={visible} time={time} y={TOP - 6} />
      <ValueGrid
        ticks={ticks}
        y={(tick) => FOOT - (tick / end) * CURVE}
        left={GUTTER}
        right={time.width}
        unit={scale.unit}
      />
      {curve.reservedMost.length > 0 && (
        <path style={{ fill: svgFill("other", true) }} d={areaOf(curve, curve.reservedMost, place)} />
      )}
      <g class="of-cpu">
        {curve.reservedMost.length > 0 && <path class="under" d={areaOf(curve, curve.most, place)} />}
        <path class="between" d={areaOf(curve, curve.most, place)} />
        <path class="area" d={areaOf(curve, curve.least, place)} />
        <path class="edge" d={outlineOf(curve, curve.most, place)} />
      </g>
      {curve.reservedMost.length > 0 && <path class="reserved" d={outlineOf(curve, curve.reservedMost, place)} />}
      {calls
        .filter(({ at }) => at >= visible.from && at < visible.to)
        .map(({ at }) => (
          <line key={at} class="call" x1={time.x(at)} x2={time.x(at)} y1={FOOT + 3} y2={HEIGHT - 1} />
        ))}
      {instant !== null && instant >= visible.from && instant <= visible.to && (
        <line class="instant" x1={time.x(instant)} x2={time.x(instant)} y1={TOP} y2={FOOT} />
      )}
      {peak.at >= visible.from && peak.at < visible.to && (
        <Peak x={time.x(peak.at)} y={y(peak.bytes)} size={scale.text(peak.bytes)} width={time.width} />
      )}
    </>
  );
}

function Peak({ x, y, size, width }: { x: number; y: number; size: string; width: number }) {
  const name = `peak ${size}`;
  const left = x + 8 + textWidth(name) > width;
  return (
    <>
      <circle class="top" cx={x} cy={y} r="3.5" />
      <text class={left ? "halo end" : "halo"} x={left ? x - 8 : x + 8} y={Math.max(TOP + 10, y - 6)}>
        {name}
      </text>
    </>
  );
}

interface NamesProps {
  ranges: readonly NamedRange[];
  visible: TimeRange;
  time: TimeScale;
  y: number;
  firm?: boolean;
}

/** A mark where each range begins, and its name where there is room. */
function Names({ ranges, visible, time, y, firm = false }: NamesProps) {
  return (
    <>
      {ranges
        .filter((range) => touches(range, visible))
        .map((range) => {
          const [left, right] = [time.clampedX(range.from), time.clampedX(range.to)];
          return (
            <g key={`${range.label} ${range.from}`}>
              {firm && <line class="tick" x1={left} x2={left} y1="2" y2={FOOT} />}
              {textWidth(range.label) + 8 < right - left && (
                <text class={firm ? "small" : "second"} x={left + 5} y={y}>
                  {range.label}
                </text>
              )}
            </g>
          );
        })}
    </>
  );
}

/** Bins of equal length over [from, to): bin i begins at from + i x length / count. */
export interface Curve extends TimeRange {
  least: readonly number[];
  most: readonly number[];
  /** Empty where there is no caching allocator. */
  reservedMost: readonly number[];
}

/** Converts an instant and a size to positions in the picture. */
interface Band {
  x(ns: number): number;
  y(bytes: number): number;
  foot: number;
}

const edgeOf = ({ from, to, most }: Curve, at: number): number => from + (at * (to - from)) / most.length;

/** A step line over the bins; neighbours of equal height are one step. */
function stepsOf(curve: Curve, values: readonly number[], { x, y }: Band): string {
  let path = "";
  values.forEach((value, at) => {
    if (value === values[at - 1]) return;
    path += `${at === 0 ? "" : `H${x(edgeOf(curve, at)).toFixed(1)}`}V${y(value).toFixed(1)}`;
  });
  return `${path}H${x(curve.to).toFixed(1)}`;
}

export function outlineOf(curve: Curve, values: readonly number[], place: Band): string {
  const [first] = values;
  if (first === undefined) return "";
  return `M${place.x(curve.from).toFixed(1)} ${place.y(first).toFixed(1)}${stepsOf(curve, values, place)}`;
}

export function areaOf(curve: Curve, values: readonly number[], place: Band): string {
  if (values.length === 0) return "";
  return `M${place.x(curve.from).toFixed(1)} ${place.foot}${stepsOf(curve, values, place)}V${place.foot}z`;
}

/** The values of the bin that contains the instant; null beyond the ends. */
export function valuesAt(curve: Curve, at: number): Record<"least" | "most" | "reserved", number | null> {
  const { from, to, least, most, reservedMost } = curve;
  const bin = Math.floor(((at - from) / (to - from)) * most.length);
  return { least: least[bin] ?? null, most: most[bin] ?? null, reserved: reservedMost[bin] ?? null };
}
