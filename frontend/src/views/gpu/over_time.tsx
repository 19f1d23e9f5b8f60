import { sum } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import type { DeviceGpu, GpuResult, Metric, MetricLevels, Phrase, SpanHead } from "../../api.gen";
import { moved, type StopSelection } from "../../charts/pointer/pointing";
import { partRow, type TipContent } from "../../charts/pointer/tip";
import { useTimeZoom } from "../../charts/pointer/zoom";
import { type BinLayer, BinLayers, levelFor, shareOf, valueAt } from "../../charts/time/time_bins";
import { hasRoom, StepRings, ZoomedPicture } from "../../charts/time/zoomed_picture";
import { Ramp } from "../../colour";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { Definitions } from "../../components/sentence";
import { sized } from "../../dom/size";
import { shortenedTo, textWidth, widestOf } from "../../dom/text_width";
import { ns, percent, type Scale, scaleFor, tick } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { lengthOf, middleOf, type TimeRange, type TimeScale, timeScale, touches } from "../../time_range";
import { ShowAll } from "../chips";
import { stepText, zoomWithin } from "../choices";
import type { Tab, ViewPart } from "../props";
import { Unknown } from "../tiles";

interface GpuOverTimeProps extends ViewPart {
  result: GpuResult;
  device: DeviceGpu;
  title: Phrase;
  head: Pick<SpanHead, "number" | "steps_by">;
  chosen: StopSelection;
}

/** Figures that share a row: the second one uses the hatched sense of the first. */
const SECOND_SENSE: Readonly<Record<string, string>> = { loader_exposed_share: "loader_hidden_share" };

/** Not drawn: utilization and copies show it separately. */
const LEFT_OUT = new Set(["busy_share"]);

/** A longer name uses its short form in the gutter. */
const LETTERS = 22;

const nameOf = ({ label, short }: Metric): string => (label.length > LETTERS && short ? short : label);

export function GpuOverTime({ result, device, title, head, chosen, tab, name }: GpuOverTimeProps) {
  const whole = result.end_ns - result.start_ns;
  const zoom = relativeZoom(result, tab);
  const rows = useMemo(() => rowsOf(device, tab.meanings), [device, tab.meanings]);
  const { number, steps_by: by } = head;
  const steps = useMemo(() => marksOf(result, by), [result, by]);
  const shown = zoom ? lengthOf(zoom) : whole;
  const spoken = rows.map((row) => `${row.name} ${row.value}`).join(", ");
  const empty = device.tiles.filter(({ metric }) => !rows.some(({ key }) => key === metric));
  return (
    <Picture
      title={title}
      sub={
        zoom ? (
          <>
            {ns(shown)} of span {number} <ShowAll zoom={zoom} tab={tab} />
          </>
        ) : (
          `span ${number}, ${ns(whole)}`
        )
      }
      name={`gpu over time ${name}`}
      table={() => tableOf(device, tab.meanings)}
      tools={<Ramp colour="kernel" of="the rows" />}
    >
      <MetricRows
        label={`${sentence(title)}. Figures over ${ns(whole)}: ${spoken}.`}
        rows={rows}
        steps={steps}
        whole={whole}
        zoom={zoom}
        setZoom={(next) => tab.update({ zoom: next && shifted(next, result.start_ns) })}
        scale={scaleFor(whole, "ns")}
        {...chosen}
      />
      <Unknown figures={empty} meanings={tab.meanings} />
      <Definitions of={rows.map(({ key }) => tab.meanings.metric(key))} />
    </Picture>
  );
}

/** The address counts from the span's origin, as in every view; the picture from the first step. */
function relativeZoom({ start_ns: from, end_ns: to }: GpuResult, tab: Tab): TimeRange | null {
  const zoom = zoomWithin(tab.state, { from, to });
  return zoom && shifted(zoom, -from);
}

const shifted = ({ from, to }: TimeRange, by: number): TimeRange => ({ from: from + by, to: to + by });

const marksOf = (result: GpuResult, by: SpanHead["steps_by"]) =>
  result.steps.map((step) => ({
    key: step.name,
    from: step.start_ns - result.start_ns,
    to: step.end_ns - result.start_ns,
    text: `${stepText(step.name, by)}, ${ns(step.end_ns - step.start_ns)}`,
  }));

/** Figures in time bins, in the server's order. */
export function rowsOf(device: DeviceGpu, meanings: Meanings): MetricRow[] {
  const apart = new Set([...LEFT_OUT, ...Object.values(SECOND_SENSE)]);
  return device.time_bins
    .filter((binned) => !apart.has(binned.metric))
    .map((binned) => rowOf(device, binned, meanings));
}

function rowOf(device: DeviceGpu, binned: MetricLevels, meanings: Meanings): MetricRow {
  const metric = meanings.metric(binned.metric);
  const second = device.time_bins.find((other) => other.metric === SECOND_SENSE[binned.metric]);
  const layers = [layerOf(binned, meanings, false), ...(second ? [layerOf(second, meanings, true)] : [])];
  const tile = device.tiles.find((series) => series.metric === binned.metric);
  return {
    key: binned.metric,
    name: nameOf(metric),
    meaning: metric.meaning,
    value: percent(tile ? tile.value : binned.value),
    thin: second !== undefined,
    layers,
  };
}

function layerOf(binned: MetricLevels, meanings: Meanings, hatched: boolean): BinLayer {
  const { label, colour } = meanings.metric(binned.metric);
  return {
    ...{ label, colour, hatched },
    levels: binned.levels.map((level) => ({ start: 0, bin: level.bin_ns, values: level.permille })),
  };
}

/** Every figure in the coarsest bins: the table is for a person, not for a machine. */
function tableOf(device: DeviceGpu, meanings: Meanings): TableData {
  const levels = device.time_bins.flatMap((binned) => binned.levels.slice(0, 1));
  const columns = device.time_bins.map((binned) => ({
    label: meanings.metric(binned.metric).label,
    unit: "fraction" as const,
  }));
  const rows = (levels[0]?.permille ?? []).map((_, bin) => [
    bin * levels[0]!.bin_ns,
    ...levels.map((level) => shareOf(level.permille[bin] ?? null)),
  ]);
  return { columns: [{ label: "Time", unit: "ns" }, ...columns], rows };
}

interface MetricRow {
  key: string;
  name: string;
  meaning: string;
  value: string;
  /** A lower row, for what happens at the same time. */
  thin: boolean;
  layers: readonly BinLayer[];
}

interface StepRange extends TimeRange {
  key: string;
  text: string;
}

interface MetricRowsProps extends StopSelection {
  label: string;
  rows: readonly MetricRow[];
  steps: readonly StepRange[];
  /** Length of the span, ns. */
  whole: number;
  zoom: TimeRange | null;
  setZoom(zoom: TimeRange | null): void;
  scale: Scale;
}

/** Height above the rows for the names of the steps. */
const TOP = 15;
const ROW = 21;
const THIN_ROW = 14;
const APART = 4;
const AXIS = 22;

/** The gutter contains names and values; it grows with the longest name up to a share of the width. */
const GUTTER = 178;
const GUTTER_FRACTION = 0.26;
const VALUE = 62;

/**
 * Several figures of one span on one time axis, a row each: ten levels of a colour over the sunken background, by exact
 * overlap, at the resolution that fits the pixels. Step marks run through all rows. Dragging zooms, a double click
 * resets.
 */
export const MetricRows = sized<MetricRowsProps>(Plot, ({ rows }) => heightOf(rows) + AXIS);

const rowHeight = ({ thin }: MetricRow): number => (thin ? THIN_ROW : ROW);

const heightOf = (rows: readonly MetricRow[]): number => TOP + sum(rows, rowHeight) + 2;

function Plot(props: MetricRowsProps & { width: number }) {
  const { rows, steps, whole, zoom, setZoom, width, hovered, selected } = props;
  const [pointer, setPointer] = useState<number | null>(null);
  const gutter = useMemo(() => gutterOf(rows, width), [rows, width]);
  const height = heightOf(rows);
  const stepAt = (ns: number) => steps.find(({ from, to }) => ns >= from && ns < to) ?? null;
  const point = (ns: number | null) => {
    setPointer(ns);
    props.hover(ns === null ? null : (stepAt(ns)?.key ?? null));
  };
  const zoomed = useTimeZoom({
    whole: { from: 0, to: whole },
    zoom,
    setZoom,
    left: gutter,
    width,
    hover: point,
    press: (ns) => props.select(stepAt(ns)?.key ?? null),
  });
  const { visible, time, band } = zoomed;
  const { from, to } = visible;
  const rowsAndMarks = useMemo(
    () => <Rows rows={rows} steps={steps} from={from} to={to} width={width} gutter={gutter} />,
    [rows, steps, from, to, width, gutter],
  );
  const shown = pointer !== null && band === null && pointer >= from && pointer <= to ? pointer : null;
  const content = shown === null ? null : tipOf(rows, stepAt(shown), shown, props.scale, time, visible);
  const key = shown === null ? (hovered ?? selected) : (stepAt(shown)?.key ?? null);
  const at = steps.findIndex((step) => step.key === key);
  const type = (typed: string): boolean => {
    const next = moved(typed, at < 0 ? null : at, steps.length);
    const now = steps[at];
    if (next !== undefined) point(middleOf(steps[next]!));
    else if (typed === "Enter" || typed === " ") props.select(now?.key ?? null);
    else if (typed === "+" && now) setZoom({ from: now.from, to: now.to });
    else if (typed === "-") setZoom(null);
    else if (typed === "Escape") {
      point(null);
      props.select(null);
      setZoom(null);
    } else return false;
    return true;
  };
  return (
    <ZoomedPicture
      label={props.label}
      class="metric-rows"
      whole={{ from: 0, to: whole }}
      zoomed={zoomed}
      at={shown}
      content={content}
      stop={{ at: at < 0 ? null : at, of: steps.length, content: content ?? stepOnly(steps[at]) }}
      left={gutter}
      top={TOP}
      bandTop={0}
      width={width}
      height={height}
      scale={props.scale}
      type={type}
    >
      {rowsAndMarks}
      <StepRings {...{ steps, hovered, selected, visible, time }} top={TOP} height={height - TOP} />
    </ZoomedPicture>
  );
}

function gutterOf(rows: readonly MetricRow[], width: number): number {
  const names = widestOf(rows.map((row) => row.name));
  return Math.round(Math.max(GUTTER, Math.min(VALUE + names, GUTTER_FRACTION * width)));
}

/** The tip of a step that was chosen in another picture. */
const stepOnly = (step: StepRange | undefined): TipContent | null =>
  step ? { title: `Step ${step.key}`, rows: [] } : null;

/** "Step 6, 312 to 316.2 ms": the bin, and each figure in it. */
function tipOf(
  rows: readonly MetricRow[],
  step: StepRange | null,
  ns: number,
  scale: Scale,
  time: TimeScale,
  { from, to }: TimeRange,
): TipContent {
  const pixels = time.width - time.left;
  const { bin } = levelFor(rows[0]?.layers[0]?.levels ?? [], from, to, pixels);
  const start = Math.floor(ns / bin) * bin;
  const edges = [start, start + bin].map((edge) => tick(Number(scale.of(edge).toPrecision(5))));
  const place = `${edges.join(" to ")}\u00a0${scale.unit}`;
  return {
    title: step ? `Step ${step.key}, ${place}` : place,
    rows: rows.flatMap((row) =>
      row.layers.map((layer) => {
        const value = valueAt(levelFor(layer.levels, from, to, pixels), ns);
        return partRow(layer, percent(shareOf(value)));
      }),
    ),
  };
}

interface RowsProps extends TimeRange {
  rows: readonly MetricRow[];
  steps: readonly StepRange[];
  width: number;
  gutter: number;
}

/** The part of the picture that the pointer does not change. */
function Rows({ rows, steps, from, to, width, gutter }: RowsProps) {
  const time = timeScale({ from, to }, gutter, width);
  let top = TOP;
  const drawn = rows.map((row) => {
    const own = top;
    top += rowHeight(row);
    return <Row key={row.key} row={row} top={own} visible={{ from, to }} time={time} />;
  });
  return (
    <>
      {drawn}
      <StepMarks steps={steps} visible={{ from, to }} time={time} foot={heightOf(rows)} />
    </>
  );
}

interface PlacedProps {
  visible: TimeRange;
  time: TimeScale;
}

function Row({ row, top, visible, time }: PlacedProps & { row: MetricRow; top: number }) {
  const [upper, depth] = [top + APART / 2, rowHeight(row) - APART];
  const baseline = upper + depth / 2 + 4;
  return (
    <>
      <text class="small" x="0" y={baseline} data-hint={`${row.name}. ${row.meaning}`}>
        {shortenedTo(row.name, time.left - VALUE + 6)}
      </text>
      <text class="firm end" x={time.left - 12} y={baseline}>
        {row.value}
      </text>
      <BinLayers layers={row.layers} visible={visible} time={time} top={upper} height={depth} />
    </>
  );
}

function StepMarks({ steps, visible, time, foot }: PlacedProps & { steps: readonly StepRange[]; foot: number }) {
  const shown = steps.filter((step) => touches(step, visible));
  if (!hasRoom(shown.length, time.width)) return null;
  return (
    <>
      {shown.map((step) => {
        const left = time.clampedX(step.from);
        const room = time.clampedX(step.to) - left;
        const text = [step.text, step.key].find((each) => textWidth(each) + 8 < room);
        return (
          <g key={step.key}>
            {step.from >= visible.from && <line class="tick" x1={left} x2={left} y1="2" y2={foot} />}
            {text && (
              <text class="second" x={left + 5} y="11">
                {text}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}
