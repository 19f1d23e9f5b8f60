/**
 * Step time against number of workers: what is measured as marks, what is predicted as a line, the loader's own time
 * dashed, and what the recommended number saves as a bar between the two.
 */

import { useMemo, useState } from "preact/hooks";
import { type Scale, tick } from "../../format";
import { type AxisLabel, thinned } from "../axes/labels";
import { type Box, type Label, NEAR, around, boxOf, crosses, freeLabel } from "../axes/free_label";
import { nearest, pointerX, typed } from "../pointer/pointing";
import type { Dot } from "./polyline";
import { Sized } from "../../dom/size";
import { niceEnd, ticks } from "../axes/ticks";
import { Tip, type TipContent, spoken } from "../pointer/tip";

export interface CurveMark {
  workers: number;
  ns: number;
  text: string;
}

export interface CurveProps {
  label: string;
  height: number;
  points: readonly { workers: number; step_ns: number; loader_ns: number }[];
  /** This span's mean step. */
  measured: CurveMark;
  /** Of other spans: hollow points, which the view names. */
  others: readonly CurveMark[];
  recommended: CurveMark;
  /** What the recommended number saves; 0 draws no bar. */
  gain: { ns: number; text: string };
  /** Beside the dashed line. */
  loader: string;
  /** More workers than this compete for cores. */
  cores: { workers: number; text: string } | null;
  axis: string;
  scale: Scale;
  tip(workers: number): TipContent;
}

const LEFT = 50;
const TOP = 12;
const BELOW = 34;

/** Room for half a mark at the ends of the axis, px. */
const ENDS = 18;

/** So few workers that the step takes as many times as long as measured are out of the picture. */
const CUT = 2;

/** Closer points have no marks of their own. */
const MARKED_PX = 9;

export function WorkerCurveChart(props: CurveProps) {
  return <Sized height={props.height}>{(width) => <CurvePlot {...props} width={width} />}</Sized>;
}

/** The picture at a width; pure, so that it can be drawn without a browser. */
export function CurvePlot(props: CurveProps & { width: number }) {
  const [lit, setLit] = useState<number | null>(null);
  const drawn = useMemo(() => layout(props), [props.points, props.measured, props.others, props.width, props.height]);
  const { stops, x, frame } = drawn;
  const xs = stops.map(x);
  const content = lit === null || stops[lit] === undefined ? null : props.tip(stops[lit]);
  const pointing = { light: setLit, keep: () => {} };
  return (
    <>
      <svg
        class="chart worker-curve"
        width={props.width}
        height={props.height}
        role="img"
        aria-label={props.label}
        tabIndex={0}
        onPointerMove={(event) => setLit(nearest(xs, pointerX(event)))}
        onPointerLeave={() => setLit(null)}
        onBlur={() => setLit(null)}
        onKeyDown={(event) => typed(event, lit, stops.length, pointing)}
      >
        <rect width={props.width} height={props.height} fill="transparent" />
        <Axes {...props} drawn={drawn} />
        {lit !== null && <line class="lit" x1={xs[lit]} x2={xs[lit]} y1={frame.top} y2={frame.bottom} />}
        <Curves {...props} drawn={drawn} />
        <Marks {...props} drawn={drawn} />
      </svg>
      {content && <Tip content={content} x={xs[lit!]!} y={TOP} width={props.width} />}
      <span class="heard" role="status">
        {content && spoken(content)}
      </span>
    </>
  );
}

interface Drawn {
  frame: Box;
  /** Numbers of workers that can be chosen. */
  stops: readonly number[];
  x(workers: number): number;
  y(ns: number): number;
  /** The end of the axis of time, in the scale's unit. */
  end: number;
}

function layout({
  points,
  measured,
  recommended,
  others,
  scale,
  width,
  height,
}: CurveProps & { width: number }): Drawn {
  const frame = { left: LEFT, right: width, top: TOP, bottom: height - BELOW };
  const most = [...points, measured, ...others].reduce((high, point) => Math.max(high, point.workers), 1);
  const from = Math.min(measured.workers, ...others.map((other) => other.workers), 1);
  const seen = Math.max(measured.ns, recommended.ns, ...others.map((other) => other.ns));
  const predicted = points.reduce((high, point) => Math.max(high, point.step_ns), 0);
  const end = niceEnd(scale.of(Math.max(seen, Math.min(predicted, CUT * seen))), 4);
  return {
    frame,
    end,
    stops: Array.from({ length: most - from + 1 }, (_, at) => from + at),
    x: (workers) => LEFT + ENDS + ((workers - from) / (most - from || 1)) * (width - LEFT - 2 * ENDS),
    y: (ns) => frame.bottom - (scale.of(ns) / end) * (frame.bottom - frame.top),
  };
}

type PartProps = CurveProps & { width: number; drawn: Drawn };

function Axes({ scale, axis, cores, drawn: { frame, stops, x, y, end } }: PartProps) {
  const one = scale.of(1);
  const labels: AxisLabel[] = stops.map((workers) => ({ x: x(workers), text: String(workers) }));
  const limited = cores && cores.workers <= stops[stops.length - 1]! ? cores : null;
  return (
    <g>
      {ticks(0, end, 4).map((value) => (
        <g key={value}>
          <line
            class={value === 0 ? "tick" : "grid"}
            x1={frame.left}
            x2={frame.right}
            y1={y(value / one)}
            y2={y(value / one)}
          />
          <text class="end" x={frame.left - 6} y={y(value / one) + 4}>
            {value === end ? `${tick(value)}\u00a0${scale.unit}` : tick(value)}
          </text>
        </g>
      ))}
      {thinned(labels).map((label) => (
        <text key={label.x} class="mid" x={label.x} y={frame.bottom + 14}>
          {label.text}
        </text>
      ))}
      <text class="mid" x={(x(stops[0]!) + x(stops[stops.length - 1]!)) / 2} y={frame.bottom + 29}>
        {axis}
      </text>
      {limited && <line class="ref" x1={x(limited.workers)} x2={x(limited.workers)} y1={frame.top} y2={frame.bottom} />}
    </g>
  );
}

const path = (dots: readonly Dot[]): string =>
  dots.map((dot, at) => `${at ? "L" : "M"}${dot.x.toFixed(1)} ${dot.y.toFixed(1)}`).join("");

function Curves({ points, measured, drawn }: PartProps) {
  const { x, y } = drawn;
  const steps = stepDots(points, drawn);
  const [first] = steps;
  const marked = x(1) - x(0) >= MARKED_PX;
  return (
    <g>
      <path class="line" d={path(bent(steps, drawn.frame.bottom))} />
      <path class="loader" d={path(bent(loaderDots(points, drawn), drawn.frame.bottom))} />
      {measured.workers < (points[0]?.workers ?? 0) && first && (
        <path class="ref" d={path([{ x: x(measured.workers), y: y(measured.ns) }, first])} />
      )}
      {marked &&
        steps
          .filter((dot) => dot.y > drawn.frame.top)
          .map((dot) => <circle key={dot.x} class="dot" cx={dot.x} cy={dot.y} r="2" />)}
    </g>
  );
}

/** Points between two whole numbers of workers, so that a hyperbola looks like one. */
const BETWEEN = 8;

/** What is shared by so many falls as 1 / x does: between two points the inverse heights above `foot` are even. */
export function bent(dots: readonly Dot[], foot: number): Dot[] {
  return dots.flatMap((from, at) => {
    const to = dots[at + 1];
    if (!to || foot - from.y < 1 || foot - to.y < 1) return [from];
    return Array.from({ length: BETWEEN }, (_, part): Dot => {
      const share = part / BETWEEN;
      return {
        x: from.x + share * (to.x - from.x),
        y: foot - 1 / ((1 - share) / (foot - from.y) + share / (foot - to.y)),
      };
    });
  });
}

const stepDots = (points: CurveProps["points"], { x, y, frame }: Drawn): Dot[] =>
  cut(
    points.map((point) => ({ x: x(point.workers), y: y(point.step_ns) })),
    frame.top,
  );
const loaderDots = (points: CurveProps["points"], { x, y, frame }: Drawn): Dot[] =>
  cut(
    points.map((point) => ({ x: x(point.workers), y: y(point.loader_ns) })),
    frame.top,
  );

/** A line that falls, from where it enters the picture. */
export function cut(dots: readonly Dot[], top: number): Dot[] {
  const first = dots.findIndex((dot) => dot.y >= top);
  const [outside, inside] = [dots[first - 1], dots[first]];
  if (first < 0 || !outside || !inside) return dots.filter((dot) => dot.y >= top);
  const share = (top - outside.y) / (inside.y - outside.y);
  return [{ x: outside.x + share * (inside.x - outside.x), y: top }, ...dots.slice(first)];
}

const NOW = 4.5;
const GOAL = 5.5;

/** A word beside an upright line stands nearer than one beside a mark, px. */
const BESIDE = 5;

function Marks(props: PartProps) {
  const { measured, others, recommended, gain, drawn } = props;
  const { x, y } = drawn;
  const dot = (mark: CurveMark): Dot => ({ x: x(mark.workers), y: y(mark.ns) });
  const [now, goal] = [dot(measured), dot(recommended)];
  const top = y(recommended.ns + gain.ns);
  const drawnGain = gain.ns > 0 && goal.y - top > 2;
  return (
    <g>
      {drawnGain && <path class="ref" d={path([now, { x: goal.x, y: now.y }])} />}
      {drawnGain && <line class="saved" x1={goal.x} x2={goal.x} y1={top} y2={Math.max(top, goal.y - GOAL)} />}
      <circle class="goal" cx={goal.x} cy={goal.y} r={GOAL} />
      <circle class="dot" cx={goal.x} cy={goal.y} r="2" />
      {others.map((other) => (
        <circle key={other.text} class="hollow" cx={dot(other).x} cy={dot(other).y} r={NOW} />
      ))}
      <circle class="dot" cx={now.x} cy={now.y} r={NOW} />
      {labelsOf(props, drawnGain ? { x: goal.x, y: (top + goal.y) / 2 } : null).map(({ label, strong }) => (
        <text
          key={label.text}
          class={`${strong ? "firm" : "small"} halo ${label.anchor === "start" ? "" : label.anchor}`}
          x={label.x}
          y={label.y}
        >
          {label.text}
        </text>
      ))}
    </g>
  );
}

/** The recommended number first: what finds no place stands in the tip, the table and the sentence all the same. */
function labelsOf(
  { points, measured, others, recommended, gain, loader, cores, drawn, width }: PartProps,
  bar: Dot | null,
): { label: Label; strong: boolean }[] {
  const { frame, x, y } = drawn;
  const dot = (mark: CurveMark): Dot => ({ x: x(mark.workers), y: y(mark.ns) });
  const lines = [stepDots(points, drawn), loaderDots(points, drawn)];
  const coresAt = cores && drawn.stops.includes(cores.workers) ? x(cores.workers) : null;
  const upright =
    coresAt === null
      ? []
      : [
          [
            { x: coresAt, y: frame.bottom },
            { x: coresAt, y: frame.top },
          ],
        ];
  const saved = bar ? [[dot(measured), { x: bar.x, y: dot(measured).y }]] : [];
  const taken = [
    around(dot(measured), NOW),
    around(dot(recommended), GOAL),
    ...others.map((other) => around(dot(other), NOW)),
  ];
  if (bar)
    taken.push({ left: bar.x - 2, right: bar.x + 2, top: y(recommended.ns + gain.ns), bottom: dot(recommended).y });
  const area = { left: frame.left + 2, right: width, top: frame.top - 12, bottom: frame.bottom };
  const placed: { label: Label; strong: boolean }[] = [];
  const place = (text: string, spots: readonly Dot[], strong = false, most?: number): boolean => {
    for (const spot of spots) {
      const clear = freeLabel(text, spot, area, taken, [...lines, ...saved, ...upright], most);
      const label = clear ?? freeLabel(text, spot, area, taken, [...lines, ...saved], most); // across the line of cores rather than nowhere
      if (label) return placed.push({ label, strong }) > 0;
    }
    return false;
  };
  if (bar) {
    const label = { x: bar.x + 9, y: bar.y + 4, anchor: "start" as const, text: gain.text };
    const box = boxOf(label);
    if (box.right > width || lines.some((line) => crosses(line, box)))
      place(gain.text, [{ x: bar.x, y: y(recommended.ns + gain.ns) }], true);
    else taken.push(box), placed.push({ label, strong: true });
  }
  place(recommended.text, [dot(recommended)]);
  place(measured.text, [dot(measured)]);
  if (cores && coresAt !== null)
    place(
      cores.text,
      [frame.bottom + 2, frame.top + 14].map((at) => ({ x: coresAt - BESIDE, y: at })),
      false,
      NEAR,
    );
  const half = Math.floor(lines[1]!.length / 2);
  const along = [...lines[1]!.slice(half), ...lines[1]!.slice(0, half).reverse()];
  if (!place(loader, along, false, NEAR)) place(loader, along);
  return placed;
}
