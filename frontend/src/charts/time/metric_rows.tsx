/**
 * Several figures of one span on one time axis, a strip each: ten levels of a colour over the sunken ground, by exact
 * overlap, from the resolution that fits the pixels. Step marks run through all. Dragging zooms, double click resets.
 */

import { useMemo, useRef, useState } from "preact/hooks";
import { colourOf } from "../../colour";
import { type Scale, percent, shortened, tick } from "../../format";
import { CHARACTER } from "../axes/labels";
import { moved, pointerX } from "../pointer/pointing";
import { type Zoom, levelFor, valueAt } from "./time_bins";
import { Sized } from "../../dom/size";
import { FULL, type StackLayer, StripLayers } from "./bin_layers";
import { TimeAxis } from "../axes/time_axis";
import { Tip, type TipContent, spoken } from "../pointer/tip";

export interface StackRow {
  key: string;
  name: string;
  meaning: string;
  value: string;
  /** Lower, as what goes on beside the figures that the picture is about. */
  thin: boolean;
  layers: readonly StackLayer[];
  /** Where there is nothing to draw. */
  reason: string | null;
}

export interface StackStep {
  key: string;
  from: number;
  to: number;
  text: string;
}

interface StripStackProps {
  label: string;
  rows: readonly StackRow[];
  steps: readonly StackStep[];
  /** Length of the span, ns. */
  whole: number;
  zoom: Zoom | null;
  setZoom(zoom: Zoom | null): void;
  scale: Scale;
  lit: string | null;
  kept: string | null;
  light(key: string | null): void;
  keep(key: string | null): void;
}

/** Room above the strips for the names of the steps. */
const TOP = 15;
const ROW = 21;
const THIN_ROW = 14;
const APART = 4;

/** The gutter holds names and values; it grows with the longest name up to a share of the width. */
const GUTTER = 178;
const GUTTER_FRACTION = 0.26;
const LETTER = 6.1;
const VALUE = 62;

/** A drag shorter than this is a press. */
const DRAG_PX = 4;

/** Marks closer than this would be a grey band: then none are drawn. */
const MARK_PX = 4;

export function StripStack(props: StripStackProps) {
  return <Sized height={heightOf(props.rows) + 22}>{(width) => <Stack {...props} width={width} />}</Sized>;
}

const tall = ({ thin }: StackRow): number => (thin ? THIN_ROW : ROW);

const heightOf = (rows: readonly StackRow[]): number => TOP + rows.reduce((sum, row) => sum + tall(row), 0) + 2;

type StackProps = StripStackProps & { width: number };

function Stack(props: StackProps) {
  const { rows, steps, whole, zoom, setZoom, width, lit, kept } = props;
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  const [here, setHere] = useState<number | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const [low, high] = zoom ?? [0, whole];
  const gutter = useMemo(() => gutterOf(rows, width), [rows, width]);
  const height = heightOf(rows);
  const x = (ns: number) => gutter + ((ns - low) / (high - low || 1)) * (width - gutter);
  const at = (px: number) => low + ((px - gutter) / (width - gutter)) * (high - low);
  const inside = (px: number) => Math.max(gutter, Math.min(width, px));
  const still = useMemo(
    () => <Still rows={rows} steps={steps} low={low} high={high} width={width} gutter={gutter} />,
    [rows, steps, low, high, width, gutter],
  );
  const stepAt = (ns: number) => steps.find(({ from, to }) => ns >= from && ns < to) ?? null;

  const point = (ns: number | null) => {
    setHere(ns);
    props.light(ns === null ? null : (stepAt(ns)?.key ?? null));
  };
  const move = (event: PointerEvent) => {
    const px = pointerX(event);
    if (drag) setDrag([drag[0], inside(px)]);
    else point(px < gutter ? null : at(px));
  };
  const press = (event: PointerEvent) => {
    const px = pointerX(event);
    if (px < gutter || event.button !== 0) return;
    svg.current!.setPointerCapture(event.pointerId);
    setDrag([px, px]);
  };
  const release = () => {
    if (drag === null) return;
    const [from, to] = [Math.min(...drag), Math.max(...drag)];
    if (to - from >= DRAG_PX) setZoom([Math.max(0, at(from)), Math.min(whole, at(to))]);
    else props.keep(stepAt(at(drag[0]))?.key ?? null);
    setDrag(null);
  };
  const choose = (key: string) => {
    const place = steps.findIndex((step) => step.key === (lit ?? kept));
    const next = moved(key, place < 0 ? null : place, steps.length);
    const now = steps[place];
    if (next !== undefined) point((steps[next]!.from + steps[next]!.to) / 2);
    else if (key === "Enter" || key === " ") props.keep(now?.key ?? null);
    else if (key === "+" && now) setZoom([now.from, now.to]);
    else if (key === "-") setZoom(null);
    else if (key === "Escape") point(null), props.keep(null), setZoom(null);
    else return false;
    return true;
  };
  const tip =
    here === null || drag !== null || here < low || here > high
      ? null
      : tipOf(rows, stepAt(here), here, props.scale, low, high, width - gutter);
  return (
    <>
      <svg
        ref={svg}
        class="chart metric-rows zoomable"
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
        onKeyDown={(event) => choose(event.key) && event.preventDefault()}
      >
        <rect width={width} height={height} fill="transparent" />
        {still}
        {steps
          .filter((step) => (step.key === lit || step.key === kept) && step.to > low && step.from < high)
          .map((step) => (
            <rect
              key={step.key}
              class="ring"
              x={inside(x(step.from))}
              y={TOP + 1}
              width={Math.max(1, inside(x(step.to)) - inside(x(step.from)))}
              height={height - TOP - 2}
            />
          ))}
        {tip && <line class="here" x1={x(here!)} x2={x(here!)} y1={TOP} y2={height} />}
        {drag && <rect class="zoom" x={Math.min(...drag)} y="0" width={Math.abs(drag[1] - drag[0])} height={height} />}
      </svg>
      <TimeAxis from={low} to={high} left={gutter} width={width} scale={props.scale} />
      {tip && <Tip content={tip} x={x(here!)} y={height + 4} width={width} above={TOP} />}
      <span class="heard" role="status">
        {tip && spoken(tip)}
      </span>
    </>
  );
}

function gutterOf(rows: readonly StackRow[], width: number): number {
  const longest = rows.reduce((most, row) => Math.max(most, row.name.length), 0);
  return Math.round(Math.max(GUTTER, Math.min(VALUE + LETTER * longest, GUTTER_FRACTION * width)));
}

/** "Step 6, 312 to 316.2 ms": the bin, and each figure in it. */
function tipOf(
  rows: readonly StackRow[],
  step: StackStep | null,
  here: number,
  scale: Scale,
  low: number,
  high: number,
  pixels: number,
): TipContent {
  const { bin } = levelFor(rows.find((row) => row.layers.length > 0)?.layers[0]?.levels ?? [], low, high, pixels);
  const from = Math.floor(here / bin) * bin;
  const at =
    [from, from + bin].map((edge) => tick(Number(scale.of(edge).toPrecision(5)))).join(" to ") + `\u00a0${scale.unit}`;
  return {
    title: step ? `Step ${step.key}, ${at}` : at,
    rows: rows.flatMap((row) =>
      row.layers.map((layer) => {
        const value = valueAt(levelFor(layer.levels, low, high, pixels), here);
        return {
          mark: <i class={`swatch of-${colourOf(layer.colour)} fill${layer.hatched ? " hatch" : ""}`} />,
          name: layer.name,
          value: percent(value === null ? null : value / FULL),
        };
      }),
    ),
  };
}

interface StillProps {
  rows: readonly StackRow[];
  steps: readonly StackStep[];
  low: number;
  high: number;
  width: number;
  gutter: number;
}

/** What the pointer does not change. */
function Still({ rows, steps, low, high, width, gutter }: StillProps) {
  const x = (ns: number) => gutter + ((ns - low) / (high - low || 1)) * (width - gutter);
  const height = heightOf(rows);
  let top = TOP;
  const strips = rows.map((row) => {
    const here = top;
    top += tall(row);
    return <Strip key={row.key} row={row} top={here} low={low} high={high} width={width} gutter={gutter} x={x} />;
  });
  return (
    <>
      {strips}
      <Marks steps={steps} low={low} high={high} width={width} x={x} foot={height} />
    </>
  );
}

function Strip({
  row,
  top,
  low,
  high,
  width,
  gutter,
  x,
}: Omit<StillProps, "rows" | "steps"> & { row: StackRow; top: number; x(ns: number): number }) {
  const [upper, depth] = [top + APART / 2, tall(row) - APART];
  const letters = Math.max(8, Math.floor((gutter - VALUE + 6) / LETTER));
  const middle = upper + depth / 2 + 4;
  return (
    <>
      <text class="small own" x="0" y={middle}>
        <title>{`${row.name}. ${row.meaning}`}</title>
        {shortened(row.name, letters)}
      </text>
      <text class="firm end" x={gutter - 12} y={middle}>
        {row.value}
      </text>
      {row.reason !== null && (
        <text class="small" x={gutter + 6} y={middle}>
          {shortened(row.reason, Math.floor((width - gutter) / LETTER))}
          <title>{row.reason}</title>
        </text>
      )}
      <StripLayers
        layers={row.layers}
        low={low}
        high={high}
        left={gutter}
        width={width}
        top={upper}
        tall={depth}
        x={x}
      />
    </>
  );
}

function Marks({
  steps,
  low,
  high,
  width,
  x,
  foot,
}: {
  steps: readonly StackStep[];
  low: number;
  high: number;
  width: number;
  x(ns: number): number;
  foot: number;
}) {
  const visible = steps.filter((step) => step.to > low && step.from < high);
  if (visible.length * MARK_PX > width) return null;
  return (
    <>
      {visible.map((step) => {
        const left = Math.max(x(low), x(step.from));
        const room = Math.min(x(high), x(step.to)) - left;
        const text = [step.text, step.key].find((each) => CHARACTER * each.length + 8 < room);
        return (
          <g key={step.key}>
            {step.from >= low && <line class="tick" x1={left} x2={left} y1="2" y2={foot} />}
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
