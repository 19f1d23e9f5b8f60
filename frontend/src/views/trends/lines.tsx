/** A metric of all chosen runs as a picture, large or small. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Change, Metric, Phrase, Unit } from "../../api.gen";
import { LineChart } from "../../charts/lines/line_chart";
import type { ChartLine, LinePoint, LineSegment, LineStop } from "../../charts/lines/line_layout";
import { NAME_LENGTH } from "../../charts/lines/line_marks";
import type { Overlay } from "../../charts/lines/overlay_data";
import type { TipContent } from "../../charts/pointer/tip";
import { LineSample } from "../../colour";
import { Picture } from "../../components/picture";
import { count, type Scale, scaleFor, shortened, text } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import type { Tab } from "../props";
import type { TrendAxis } from "./axis";
import type { Cast } from "./cast";
import { Hovered, type TrendSelection } from "./hover";
import { tableOf } from "./line_table";
import { bandOf, isSlow, MANY_WORKERS, medianOf, type Run, stepValue } from "./runs";

interface TrendPictureProps {
  metric: Metric;
  title: Phrase;
  sub?: string;
  /** Drawn one by one, the one in focus last. */
  runs: readonly Run[];
  /** Drawn together. */
  group: readonly Run[];
  of: Cast["of"];
  /** Name of the run that the one in focus is compared with. */
  compared: string | null;
  axis: TrendAxis;
  /** Of all metrics; those of this one and of the run in focus are marked. */
  changes: readonly Change[];
  chosen: TrendSelection;
  tab: Tab;
  small?: boolean;
  /** The job's own scalar of the run in focus. */
  overlay?: Overlay | null;
  tools?: ComponentChildren;
}

const HEIGHT = 232;
const SMALL_HEIGHT = 112;

/** Runs in a tip; the legend has them all. */
const TIP_RUNS = 12;

export function TrendPicture({
  metric,
  title,
  sub,
  runs,
  group,
  of,
  compared,
  axis,
  changes,
  chosen,
  tab,
  small = false,
  overlay = null,
  tools,
}: TrendPictureProps) {
  const { lines, hidden, scale, level, measured } = useMemo(
    () => drawnFrom(metric, { runs, group, of, compared, small }, axis, changes),
    [metric, runs, group, of, compared, small, axis, changes],
  );
  const points = useMemo(() => pointsByStop([...lines, ...hidden]), [lines, hidden]);
  const segments = useMemo(() => (small ? axis.segments.map(withoutSpan) : axis.segments), [axis, small]);
  const height = small ? SMALL_HEIGHT : HEIGHT;
  const label = useMemo(() => spokenLines(sentence(title), lines, scale), [title, lines, scale]);
  return (
    <Picture
      title={title}
      sub={sub}
      name={`${metric.id} trend`}
      table={() => tableOf(metric, [...group, ...runs], axis)}
      link={() => tab.address({ metric: metric.id })}
      tools={tools}
    >
      {measured ? (
        <Hovered hover={chosen.hover}>
          {(hovered) => (
            <LineChart
              label={label}
              height={height}
              small={small}
              colour={small ? metric.colour : "ink"}
              hidden={hidden}
              overlay={overlay}
              segments={segments}
              stops={axis.stops}
              pad={axis.pad}
              lines={lines}
              scale={scale}
              reference={small ? undefined : level}
              hovered={hovered}
              selected={chosen.selected}
              hover={chosen.hover.set}
              select={chosen.select}
              tip={(stop, near) => tipOf(axis.stops[stop]!, points.get(stop) ?? [], near, scale, overlay)}
            />
          )}
        </Hovered>
      ) : (
        <p class="unmeasured" style={{ height: `${height}px` }}>
          {whyNot([...group, ...runs], metric, tab.meanings)}
        </p>
      )}
    </Picture>
  );
}

/** Small pictures say "step" only. */
const withoutSpan = (segment: LineSegment): LineSegment => ({
  ...segment,
  caption: segment.caption.replace(/^span \d+, /, ""),
});

interface Drawn {
  runs: readonly Run[];
  group: readonly Run[];
  of: Cast["of"];
  compared: string | null;
  small: boolean;
}

function drawnFrom(
  metric: Metric,
  { runs, group, of, compared, small }: Drawn,
  axis: TrendAxis,
  changes: readonly Change[],
) {
  const changed = changes.filter((change) => change.metric === metric.id);
  const alone = runs.map((run): ChartLine => {
    const focus = run === runs[runs.length - 1];
    const line = lineOf(run, axis, metric.id, focus, spansOf(changed, run));
    return { ...line, hue: runs.length + group.length > 1 ? run.hue : undefined, strong: run.name === compared };
  });
  // small pictures are too small to point at one of many
  const isDrawnFrom = of === "runs" || !small;
  const hidden = isDrawnFrom ? group.map((run) => lineOf(run, axis, metric.id, false, new Set())) : [];
  // of workers, the line of their run is that of all of them
  const lines = group.length > 0 && of === "runs" ? [groupLine(hidden, axis), ...alone] : alone;
  const values = lines
    .flatMap((line) => line.points.flatMap((point) => [point?.value ?? null, point?.high ?? null]))
    .filter((value) => value !== null);
  const scale = scaleFor(
    values.reduce((a, b) => Math.max(a, b), 0),
    metric.unit,
  );
  return { lines, hidden, scale, level: reference(lines, metric.unit), measured: values.length > 0 };
}

/** The middle of many runs at each stop, and between which values four fifths of them are. */
function groupLine(hidden: readonly ChartLine[], { stops }: TrendAxis): ChartLine {
  const values = stops.map((): number[] => []);
  for (const point of hidden.flatMap((line) => line.points)) {
    if (point !== null && point.value !== null) values[point.stop]!.push(point.value);
  }
  const points = values.map((known, stop) => {
    const middle = bandOf(known);
    return middle && { stop, value: middle.median, low: middle.low, high: middle.high };
  });
  return { key: GROUP, name: `Median of ${count(hidden.length)} other runs`, focus: false, group: true, points };
}

/** No folder's name has a line break. */
const GROUP = "\n";

const spansOf = (changes: readonly Change[], { name }: Run): Set<number> =>
  new Set(changes.filter((change) => change.run === name).map((change) => change.span));

function lineOf(run: Run, axis: TrendAxis, metric: string, focus: boolean, changed: Set<number>): ChartLine {
  const points = axis.pointsOf(run).map(({ stop, aggregate }) => {
    // Only the first point of the span that is another: the set forgets it.
    return (
      aggregate && {
        stop,
        ...stepValue(aggregate, metric),
        slow: focus && isSlow(aggregate), // no other line has rings
        changed: focus && changed.delete(aggregate.number),
      }
    );
  });
  const name = run.workers >= MANY_WORKERS ? `${run.label}, median of ${run.workers} workers` : run.label;
  return { key: run.name, name, focus, points };
}

/** The median of the run in focus. Of two or three points it would say nothing. */
function reference(lines: readonly ChartLine[], unit: Unit): { value: number; name: string } | undefined {
  const focus = lines.find((line) => line.focus);
  const values = focus?.points.flatMap((point) => (point === null || point.value === null ? [] : [point.value])) ?? [];
  const median = values.length > 3 ? medianOf(values) : null;
  return median === null
    ? undefined
    : { value: median, name: `${shortened(focus!.name, NAME_LENGTH)}, median ${text(median, unit)}` };
}

/** Of a scalar whose scale nobody knows. */
const SCALAR_DIGITS = 5;

type Pointed = readonly (readonly [line: ChartLine, point: LinePoint])[];

/** By stop, the one in focus first: a moving pointer looks nothing up twice. */
function pointsByStop(lines: readonly ChartLine[]): ReadonlyMap<number, Pointed> {
  const found = new Map<number, [ChartLine, LinePoint][]>();
  for (const line of [...lines].sort((a, b) => rank(a) - rank(b))) {
    for (const point of line.points) {
      if (point === null) continue;
      const there = found.get(point.stop);
      if (there) there.push([line, point]);
      else found.set(point.stop, [[line, point]]);
    }
  }
  return found;
}

const rank = ({ focus, strong, key }: ChartLine): number => (focus ? 0 : strong ? 1 : key === GROUP ? 2 : 3);

/** Of runs that are drawn together only the one that is pointed at. */
function tipOf(
  { key, segment, at }: LineStop,
  points: Pointed,
  near: string | null,
  scale: Scale,
  overlay: Overlay | null,
): TipContent {
  const isAlone = (line: ChartLine) => line.hue !== undefined || line.focus || line.key === GROUP;
  const shown = points.filter(([line]) => isAlone(line) || line.key === near);
  const alone = points.filter(([line]) => isAlone(line)).length;
  const rows = shown.map(([line, point]) => {
    const range =
      point.low == null || point.high == null ? "" : ` (${scale.number(point.low)} to ${scale.number(point.high)})`;
    const { focus, hue, strong } = line;
    const name = line.key === GROUP ? `Median of ${count(points.length - alone)} others` : line.name;
    return {
      mark: <LineSample {...{ focus, hue, strong }} />,
      name,
      value: scale.text(point.value) + range,
    };
  });
  const more = rows.length - TIP_RUNS;
  const rest = more > 0 ? [{ name: `and ${more} more`, value: "" }] : [];
  // over time the value of the moment: the last one until then
  const held = overlay?.points.findLast((point) => point.segment === segment && point.at <= at);
  const own = held ? [{ name: overlay!.name, value: String(Number(held.value.toPrecision(SCALAR_DIGITS))) }] : [];
  return { title: stopTitle(key), rows: [...rows.slice(0, TIP_RUNS), ...rest, ...own] };
}

/** "Step 9, span 1", from a key. */
export function stopTitle(key: string): string {
  const slash = key.indexOf("/");
  const step = key.slice(slash + 1);
  return step === "" ? `Span ${key.slice(0, slash)}` : `Step ${step}, span ${key.slice(0, slash)}`;
}

function spokenLines(title: string, lines: readonly ChartLine[], scale: Scale): string {
  const ranges = lines.slice(-TIP_RUNS).map((line) => {
    const values = line.points.flatMap((point) => (point === null || point.value === null ? [] : [point.value]));
    if (values.length === 0) return `${line.name}: not measured`;
    return (
      `${line.name}: ${scale.number(values.reduce((a, b) => Math.min(a, b)))} to ` +
      `${scale.text(values.reduce((a, b) => Math.max(a, b)))}`
    );
  });
  return `${title}. ${ranges.join(". ")}.`;
}

/** The reason that the server gives, in place of the picture. */
function whyNot(runs: readonly Run[], metric: Metric, meanings: Meanings): string {
  for (const { result } of runs.flatMap((run) => run.spans)) {
    const reason = result.series.find((series) => series.metric === metric.id)?.reason;
    if (reason) return `${metric.label} cannot be measured here. ${sentence(meanings.explain(reason))}`;
  }
  return `${metric.label} cannot be measured here.`;
}
