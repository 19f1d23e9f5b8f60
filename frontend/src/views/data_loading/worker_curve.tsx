import { useState } from "preact/hooks";
import type { WorkerCurve } from "../../api.gen";
import { AxisLabels, thinned, ValueGrid, zeroAxis } from "../../charts/axes";
import { type Dot, pathOf } from "../../charts/lines/polyline";
import { nearest } from "../../charts/pointer/pointing";
import { StopsPicture } from "../../charts/pointer/stops_picture";
import { Picture } from "../../components/picture";
import { Remark } from "../../components/sentence";
import { sized } from "../../dom/size";
import { counted, ns, rough, scaleFor } from "../../format";
import { sentence } from "../../phrase";
import type { Compared, Titles, ViewPart } from "../props";
import {
  type CurveMark,
  type CurveProps,
  type Drawn,
  dotsOf,
  GOAL,
  labelsOf,
  NOW,
  type PartProps,
} from "./charts/worker_curve_layout";

const HEIGHT = 206;

interface CurvePictureProps extends ViewPart {
  titles: Titles;
  curve: WorkerCurve;
  compared: Compared<"data_loading"> | null;
}

/** How long the step takes by number of workers: measured at the current number, predicted at others. */
export function WorkerCurvePicture({ titles, curve, compared, tab, name }: CurvePictureProps) {
  const {
    points,
    measured_workers: workers,
    measured_step_ns: now_ns,
    recommended,
    floor_ns,
    gain_ns,
    cores,
    limits,
  } = curve;
  const [title, pace, epochs] = [titles.curve!, titles.curve_pace!, titles.curve_epochs];
  const others = comparedMark(compared);
  const scale = scaleFor(
    Math.max(now_ns, ...points.map((point) => point.step_ns), ...others.map((other) => other.ns)),
    "ns",
  );
  const saves = workers < recommended && gain_ns > 0; // fewer workers are as good, and save no time
  return (
    <Picture
      title={title}
      details={limits.map((limit) => sentence(tab.meanings.explain(limit))).join(" ")}
      name={`workers ${name}`}
      table={() => curveTable(curve)}
    >
      <WorkerCurveChart
        label={
          `${sentence(title)}. Step time against number of workers: measured ` +
          `${scale.text(now_ns)} with ${workers}; ` +
          `recommended: ${counted(recommended, "worker")}, about ${rough(floor_ns)}` +
          `${saves ? `, which saves up to ${ns(gain_ns)} a step` : ""}.`
        }
        points={points}
        scale={scale}
        others={others}
        measured={{ workers, ns: now_ns, text: `${ns(now_ns)} now` }}
        recommended={{ workers: recommended, ns: floor_ns, text: "recommended" }}
        gain={{ ns: saves ? gain_ns : 0, text: `up to ${ns(gain_ns)}` }}
        loader={`loader: ${sentence(pace)}`}
        cores={cores === null ? null : { workers: cores, text: counted(cores, "core") }}
        tip={(at) => tipOf(curve, others, at)}
      />
      {compared && <ComparedNote compared={compared} mark={others[0] ?? null} />}
      <Remark phrase={epochs} />
    </Picture>
  );
}

/** The point of the other span, as the picture draws it. */
const Hollow = () => (
  <svg class="plot sample" width="10" height="10" aria-hidden="true">
    <circle class="hollow" cx="5" cy="5" r="4" />
  </svg>
);

/**
 * Describes the other span in words: a label next to its point would often find no room, and without a known number of
 * workers it has no point.
 */
function ComparedNote(props: { compared: Compared<"data_loading">; mark: CurveMark | null }) {
  const {
    compared: { name, page },
    mark,
  } = props;
  const { mean } = page.result;
  if (mark)
    return (
      <p class="quiet small aside">
        <span class="key">
          <Hollow />
          <span>
            {name} measured {ns(mark.ns)} with {counted(mark.workers, "worker")}.
          </span>
        </span>
      </p>
    );
  return (
    mean && (
      <p class="quiet small aside">
        {name} measured {ns(mean.duration_ns)}; its trace does not show the number of workers.
      </p>
    )
  );
}

/** The point of another span of the same training, with its own number of workers, where that is known. */
function comparedMark(compared: Compared<"data_loading"> | null): CurveMark[] {
  if (!compared) return [];
  const { curve, burst, mean, multiprocess } = compared.page.result;
  const workers = curve?.measured_workers ?? burst?.workers ?? (multiprocess === false ? 0 : null);
  const step_ns = curve?.measured_step_ns ?? mean?.duration_ns ?? null;
  return workers === null || step_ns === null
    ? []
    : [{ workers, ns: step_ns, text: `${compared.name} measured ${ns(step_ns)}` }];
}

function tipOf(
  { points, measured_workers: workers, measured_step_ns: now_ns }: WorkerCurve,
  others: readonly CurveMark[],
  at: number,
) {
  const point = points.find((each) => each.workers === at);
  return {
    title: at === 0 ? "No worker processes" : counted(at, "worker"),
    rows: [
      ...(point
        ? [
            { name: "Step, predicted", value: `about ${rough(point.step_ns)}` },
            { name: "Loader alone", value: rough(point.loader_ns) },
          ]
        : []),
      ...(at === workers ? [{ name: "Measured now", value: ns(now_ns) }] : []),
      ...others.filter((other) => other.workers === at).map((other) => ({ name: "Compared with", value: other.text })),
    ],
  };
}

function curveTable({ points, measured_workers: workers, measured_step_ns: now_ns }: WorkerCurve) {
  const columns = ["Step, predicted", "Loader alone", "Step, measured"].map((label) => ({
    label,
    unit: "ns" as const,
  }));
  const nobody = workers < (points[0]?.workers ?? 0) ? [[workers, null, null, now_ns]] : [];
  return {
    columns: [{ label: "Workers", unit: "count" as const }, ...columns],
    rows: [
      ...nobody,
      ...points.map((point) => [
        point.workers,
        point.step_ns,
        point.loader_ns,
        point.workers === workers ? now_ns : null,
      ]),
    ],
  };
}

const LEFT = 50;
const TOP = 12;
const BELOW = 34;

/** Room for half a mark at the ends of the axis, px. */
const ENDS = 18;

/** Numbers of workers at which the step takes this many times as long as measured are outside the picture. */
const CUT = 2;

/** Points closer together than this have no marks of their own. */
const MARKED_PX = 9;

/**
 * Step time against number of workers: measurements as marks, predictions as a line, the loader's own time dashed, and
 * what the recommended number saves as a bar between the two.
 */
const WorkerCurveChart = sized<CurveProps>(CurvePlot, HEIGHT);

/** The picture at a given width; pure, so that it can be drawn without a browser. */
export function CurvePlot(props: CurveProps & { width: number }) {
  const [hovered, setHovered] = useState<number | null>(null);
  const drawn = layout(props);
  const { stops, x, frame } = drawn;
  const xs = stops.map(x);
  const content = hovered === null || stops[hovered] === undefined ? null : props.tip(stops[hovered]);
  return (
    <StopsPicture
      class="chart worker-curve"
      label={props.label}
      width={props.width}
      height={HEIGHT}
      at={hovered}
      count={stops.length}
      content={content}
      stopAt={(px) => nearest(xs, px)}
      hover={(stop) => setHovered(stop)}
      tip={{ content, x: xs[hovered ?? 0] ?? 0, y: TOP }}
    >
      <Axes {...props} drawn={drawn} />
      {hovered !== null && <line class="hovered" x1={xs[hovered]} x2={xs[hovered]} y1={frame.top} y2={frame.bottom} />}
      <Curves {...props} drawn={drawn} />
      <Marks {...props} drawn={drawn} />
    </StopsPicture>
  );
}

function layout(props: CurveProps & { width: number }): Drawn {
  const { points, measured, recommended, others, scale, width } = props;
  const frame = { left: LEFT, right: width, top: TOP, bottom: HEIGHT - BELOW };
  const most = [...points, measured, ...others].reduce((high, point) => Math.max(high, point.workers), 1);
  const from = Math.min(measured.workers, ...others.map((other) => other.workers), 1);
  const highest = Math.max(measured.ns, recommended.ns, ...others.map((other) => other.ns));
  const predicted = points.reduce((high, point) => Math.max(high, point.step_ns), 0);
  const timeAxis = zeroAxis(scale.of(Math.max(highest, Math.min(predicted, CUT * highest))), 4);
  return {
    frame,
    timeAxis,
    stops: Array.from({ length: most - from + 1 }, (_, at) => from + at),
    x: (workers) => LEFT + ENDS + ((workers - from) / (most - from || 1)) * (width - LEFT - 2 * ENDS),
    y: (ns) => frame.bottom - (scale.of(ns) / timeAxis.end) * (frame.bottom - frame.top),
  };
}

function Axes({ scale, cores, drawn: { frame, stops, x, y, timeAxis } }: PartProps) {
  const labels = stops.map((workers) => ({ x: x(workers), text: String(workers) }));
  const limited = cores && cores.workers <= stops[stops.length - 1]! ? cores : null;
  return (
    <g>
      <ValueGrid
        ticks={timeAxis.ticks}
        y={(tick) => y(tick / scale.of(1))}
        left={frame.left}
        right={frame.right}
        unit={scale.unit}
      />
      <AxisLabels labels={thinned(labels)} y={frame.bottom + 14} />
      <text class="mid" x={(x(stops[0]!) + x(stops[stops.length - 1]!)) / 2} y={frame.bottom + 29}>
        num_workers
      </text>
      {limited && <line class="ref" x1={x(limited.workers)} x2={x(limited.workers)} y1={frame.top} y2={frame.bottom} />}
    </g>
  );
}

function Curves({ points, measured, drawn }: PartProps) {
  const { x, y } = drawn;
  const steps = dotsOf(points, "step_ns", drawn);
  const [first] = steps;
  const marked = x(1) - x(0) >= MARKED_PX;
  return (
    <g>
      <path class="line" d={pathOf(bent(steps, drawn.frame.bottom))} />
      <path class="loader" d={pathOf(bent(dotsOf(points, "loader_ns", drawn), drawn.frame.bottom))} />
      {measured.workers < (points[0]?.workers ?? 0) && first && (
        <path class="ref" d={pathOf([{ x: x(measured.workers), y: y(measured.ns) }, first])} />
      )}
      {marked &&
        steps
          .filter((dot) => dot.y > drawn.frame.top)
          .map((dot) => <circle key={dot.x} class="dot" cx={dot.x} cy={dot.y} r="2" />)}
    </g>
  );
}

/** Points that are inserted between two whole numbers of workers, so that a hyperbola looks like one. */
const BETWEEN = 8;

/**
 * Inserts points for a time that n workers share, which falls as 1 / x: between two points the inverse heights above
 * `foot` are evenly spaced.
 */
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

function Marks(props: PartProps) {
  const { measured, others, recommended, gain, drawn } = props;
  const { x, y } = drawn;
  const dot = (mark: CurveMark): Dot => ({ x: x(mark.workers), y: y(mark.ns) });
  const [now, goal] = [dot(measured), dot(recommended)];
  const top = y(recommended.ns + gain.ns);
  const drawnGain = gain.ns > 0 && goal.y - top > 2;
  return (
    <g>
      {drawnGain && <path class="ref" d={pathOf([now, { x: goal.x, y: now.y }])} />}
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
