/**
 * A figure within spans, one row per span on a common time axis that starts with the span: ten levels of a colour over
 * the sunken background, by exact overlap. Marks on top show the steps, a bar above a step says that it is slow.
 * Dragging zooms all rows.
 */

import { useId, useMemo, useRef, useState } from "preact/hooks";
import { TimeAxis } from "../../../charts/axes";
import { moved, type StopSelection } from "../../../charts/pointer/pointing";
import { sentenceOf, Tip, type TipContent } from "../../../charts/pointer/tip";
import { useTimeZoom } from "../../../charts/pointer/zoom";
import { BinLayers, type Bins as TimeBins } from "../../../charts/time/time_bins";
import { hasRoom, StepRings } from "../../../charts/time/zoomed_picture";
import { useRowWindow } from "../../../dom/rows";
import { sized } from "../../../dom/size";
import { shortenedTo, textWidth, widestOf } from "../../../dom/text_width";
import { type Scale, scaleFor } from "../../../format";
import { type TimeRange, type TimeScale, timeScale, touches } from "../../../time_range";

/** Relative to the start of the row, ns. */
interface HeatmapStep extends TimeRange {
  key: string;
  slow: boolean;
}

export interface HeatmapRow {
  key: string;
  /** Names in bold and in faint type: run, span. */
  name: string;
  second: string;
  value: string;
  /** Starts at 0; full is 1000. */
  bins: TimeBins;
  steps: readonly HeatmapStep[];
}

interface HeatmapProps extends StopSelection {
  label: string;
  rows: readonly HeatmapRow[];
  /** End of the time axis, ns. A row that is longer says where it ends. */
  end: number;
  colour: string;
  scale: Scale;
  tip(row: number, step: number): TipContent;
}

const ROW = 23;
const AXIS = 22;

/** The gutter contains names and values; it grows with them up to a share of the width. */
const GUTTER = 178;
const GUTTER_FRACTION = 0.28;

/** The width of the value and the gaps around it, px. */
const VALUE = 72;

interface Place {
  row: number;
  step: number;
}

/** The number of rows from which the box scrolls. */
const MOST_ROWS = 14;

const heightOf = ({ rows }: HeatmapProps): number => Math.min(MOST_ROWS, rows.length) * ROW;

export const Heatmap = sized<HeatmapProps>(Plot, (props) => heightOf(props) + AXIS);

function Plot(props: HeatmapProps & { width: number }) {
  const { rows, width, hovered, selected, colour } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRowWindow(box, rows.length, ROW);
  const whole = props.end || 1;
  const [zoom, setZoom] = useState<TimeRange | null>(null);
  const [place, setPlace] = useState<Place | null>(null);
  const gutter = gutterOf(rows, width);
  const scrolled = box.current?.scrollTop ?? 0;
  const point = (next: Place | null) => {
    setPlace(next);
    props.hover(next && rows[next.row]!.steps[next.step]!.key);
  };
  const rowAt = (event: PointerEvent) =>
    Math.floor((event.clientY - box.current!.getBoundingClientRect().top + box.current!.scrollTop) / ROW);
  const { visible, time, band, handlers, reset } = useTimeZoom({
    whole: { from: 0, to: whole },
    zoom,
    setZoom,
    left: gutter,
    width,
    hover: (ns, event) => point(ns === null ? null : placeAt(rows, rowAt(event as PointerEvent), ns)),
    press(ns, event) {
      const pressed = placeAt(rows, rowAt(event), ns);
      if (pressed) props.select(rows[pressed.row]!.steps[pressed.step]!.key);
    },
  });
  const here = useId();
  const step = place && rows[place.row]?.steps[place.step];
  const { from, to } = visible;
  const end = zoom ? null : whole;
  // a moving pointer renders only the rows again that it marks
  const plain = useMemo(
    () =>
      rows
        .slice(view.first, view.end)
        .map((row) => (
          <Row key={row.key} {...{ row, width, gutter, colour, from, to, end }} hovered={null} selected={null} />
        )),
    [rows, view.first, view.end, width, gutter, colour, from, to, end],
  );
  const content = place && step ? props.tip(place.row, place.step) : null;
  return (
    <>
      <div
        class="heatmap zoomable"
        ref={box}
        style={{ height: `${heightOf(props)}px` }}
        role="grid"
        aria-label={props.label}
        aria-rowcount={rows.length}
        aria-activedescendant={content ? here : undefined}
        tabIndex={0}
        {...handlers}
        onKeyDown={(event) => typed(event, props, place, point, reset)}
      >
        <div style={{ height: `${view.above_px}px` }} />
        {rows.slice(view.first, view.end).map((row, at) => (
          <div key={row.key} role="row" aria-rowindex={view.first + at + 1}>
            <span class="visually-hidden" role="rowheader">{`${row.name} ${row.second}`}</span>
            <span class="visually-hidden" role="gridcell">
              {row.value}
            </span>
            {content && place?.row === view.first + at && (
              <span class="visually-hidden" role="gridcell" id={here} aria-selected="true">
                {sentenceOf(content)}
              </span>
            )}
            {isMarked(row, hovered, selected) ? (
              // with the key of the plain row, so that its bins stay in the document
              <Row key={row.key} row={row} {...visible} {...{ width, gutter, colour, end, hovered, selected }} />
            ) : (
              plain[at]
            )}
          </div>
        ))}
        <div style={{ height: `${view.below_px}px` }} />
        {band && (
          <div
            class="zoom"
            style={{ left: `${band.left}px`, width: `${band.width}px`, height: `${rows.length * ROW}px` }}
          />
        )}
      </div>
      <TimeAxis {...visible} left={gutter} width={width} scale={props.scale} />
      <Tip
        content={content}
        x={step ? time.clampedX(step.from) : 0}
        y={((place?.row ?? 0) + 1) * ROW - scrolled + 2}
        above={(place?.row ?? 0) * ROW - scrolled}
        width={width}
      />
    </>
  );
}

const isMarked = ({ steps }: HeatmapRow, hovered: string | null, selected: string | null): boolean =>
  (hovered !== null || selected !== null) && steps.some(({ key }) => key === hovered || key === selected);

function placeAt(rows: readonly HeatmapRow[], row: number, ns: number): Place | null {
  const step = rows[row]?.steps.findIndex(({ from, to }) => ns >= from && ns < to) ?? -1;
  return step < 0 ? null : { row, step };
}

/** The left and right keys choose a step, up and down a row. */
function typed(
  event: KeyboardEvent,
  { rows, select }: HeatmapProps,
  place: Place | null,
  point: (next: Place | null) => void,
  reset: () => void,
): void {
  const now = place ?? { row: 0, step: -1 };
  const turn = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const steps = rows[now.row]?.steps ?? [];
  const step = moved(event.key, place?.step ?? null, steps.length);
  if (turn !== undefined) point(inRow(rows, now.row + turn, Math.max(0, now.step)) ?? place);
  else if (step !== undefined) point({ row: now.row, step });
  else if (event.key === "Enter" || event.key === " ") select(steps[now.step]?.key ?? null);
  else if (event.key === "Escape") {
    point(null);
    select(null);
    reset();
  } else return;
  event.preventDefault();
}

function inRow(rows: readonly HeatmapRow[], row: number, step: number): Place | null {
  const count = rows[row]?.steps.length ?? 0;
  return count === 0 ? null : { row, step: Math.min(step, count - 1) };
}

function gutterOf(rows: readonly HeatmapRow[], width: number): number {
  const names = widestOf(rows.map((row) => `${row.name}  ${row.second}`));
  return Math.round(Math.max(GUTTER, Math.min(VALUE + names, GUTTER_FRACTION * width)));
}

interface RowProps extends TimeRange {
  row: HeatmapRow;
  width: number;
  gutter: number;
  colour: string;
  /** End of the axis, where a longer row says where it ends; null: a zoomed part of all rows is shown. */
  end: number | null;
  hovered: string | null;
  selected: string | null;
}

function Row({ row, width, gutter, from, to, colour, end, hovered, selected }: RowProps) {
  const time = useMemo(() => timeScale({ from, to }, gutter, width), [from, to, gutter, width]);
  const bins = useMemo(() => <Bins {...{ row, from, to, colour, end, time }} />, [row, from, to, colour, end, time]);
  return (
    <svg class="chart" width={width} height={ROW} aria-hidden="true">
      {bins}
      <StepRings steps={row.steps} {...{ hovered, selected, time }} visible={{ from, to }} top={5.5} height={16} />
    </svg>
  );
}

type BinsProps = TimeRange & Pick<RowProps, "row" | "colour" | "end"> & { time: TimeScale };

/** The part of a row that the pointer does not change. */
function Bins({ row, from, to, time, colour, end }: BinsProps) {
  const layer = { label: row.key, colour, hatched: false, levels: [row.bins] };
  const { x, clampedX, left } = time;
  const length = row.bins.bin * row.bins.values.length;
  const steps = row.steps.filter((step) => touches(step, { from, to }));
  const marked = hasRoom(steps.length, time.width);
  return (
    <>
      <text class="small own" x="0" y="18">
        {shortenedTo(row.name, left - VALUE - textWidth(row.second))}
        <tspan class="second" dx="8">
          {row.second}
        </tspan>
      </text>
      <text class="firm end" x={left - 12} y="18">
        {row.value}
      </text>
      <BinLayers layers={[layer]} visible={{ from, to }} time={time} top={6} height={15} />
      {end !== null && length > end && (
        <text class="small own end halo" x={time.width - 4} y="18">
          {`to ${scaleFor(length, "ns").text(length)}`}
        </text>
      )}
      {steps
        .filter(({ slow }) => marked || slow)
        .map((step) => (
          <g key={step.key}>
            {marked && step.from >= from && <line class="tick" x1={x(step.from)} x2={x(step.from)} y1="2" y2="21" />}
            {step.slow && (
              <line
                class="slow"
                x1={clampedX(step.from) + 2}
                x2={Math.max(clampedX(step.from) + 3, clampedX(step.to) - 1)}
                y1="3"
                y2="3"
              />
            )}
          </g>
        ))}
    </>
  );
}
