/** A metric of all chosen runs as a picture, large or small. */

import { max, min, sum } from "d3-array";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Change, Metric, Phrase, Unit } from "../../api.gen";
import { cached } from "../../cached";
import { crowdOf, valueIn, valuesAt } from "../../charts/lines/crowd";
import { LineChart } from "../../charts/lines/line_chart";
import type {
  ChartLine,
  Crowd,
  CrowdLine,
  LinePoint,
  LineSegment,
  LineStop,
  Overlay,
} from "../../charts/lines/line_layout";
import type { TipContent } from "../../charts/pointer/tip";
import { LineSample } from "../../colour";
import type { TableData } from "../../components/data_table";
import { NoPicture, Picture } from "../../components/picture";
import { count, counted, type Scale, scaleFor, shortened, text } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import type { Tab } from "../props";
import type { Over, TrendAxis } from "./axis";
import { type Cast, figuresOf, orNull, slowIn } from "./cast";
import { type Above, axisEnd, largestShown, valuesAbove } from "./charts/cut_axis";
import { Hovered, type TrendSelection } from "./hover";
import { bandOf, MANY_WORKERS, type Run, seriesOf, stepValue } from "./runs";

interface TrendPictureProps {
  metric: Metric;
  title: Phrase;
  sub?: string;
  details?: string;
  /** Drawn individually, the one in focus last. */
  runs: readonly Run[];
  /** Drawn as one group. */
  group: readonly Run[];
  of: Cast["of"];
  /** Name of the run that the one in focus is compared with. */
  compared: string | null;
  axis: TrendAxis;
  /** Changes of all metrics; those of this metric in the run in focus are marked. */
  changes: readonly Change[];
  chosen: TrendSelection;
  tab: Tab;
  small?: boolean;
  /** One of the job's own scalars, for the run in focus. */
  overlay?: Overlay | null;
  tools?: ComponentChildren;
}

const HEIGHT = 232;
/** The height with many runs: the legend beside the picture is longer, too. */
const MANY_HEIGHT = 380;
const SMALL_HEIGHT = 112;

/** The most runs in a tip; the legend has all of them. */
const TIP_RUNS = 12;

export function TrendPicture(props: TrendPictureProps) {
  const { metric, title, sub, details, runs, group, of, compared } = props;
  const { axis, changes, chosen, tab, small = false, overlay = null, tools } = props;
  const whole = tab.state.axis === "all";
  const shown = useMemo(
    () => shownLines(metric, { runs, group, of, compared, small, whole }, axis, changes),
    [metric, runs, group, of, compared, small, whole, axis, changes],
  );
  const { lines, crowd, scale, level, measured, end, above } = shown;
  const alone = measured && overlay === null && isAlone(shown); // the title has its value
  const segments = useMemo(() => (small ? axis.segments.map(withoutSpan) : axis.segments), [axis, small]);
  const height = small ? SMALL_HEIGHT : group.length > 0 ? MANY_HEIGHT : HEIGHT;
  const label = useMemo(() => spokenLines(sentence(title), lines, scale), [title, lines, scale]);
  if (small && !measured)
    return <NoPicture title={metric.label} why={whyNot([...group, ...runs], metric, tab.meanings)} />;
  return (
    <Picture
      title={title}
      sub={sub}
      details={measured && !alone ? details : null}
      name={`${metric.id} trend`}
      table={() => tableOf(metric, [...group, ...runs], axis)}
      link={() => tab.address({ metric: metric.id })}
      drawn={!alone}
      tools={
        <>
          {!small && (whole || end !== null) && <WholeAxis whole={whole} tab={tab} />}
          {tools}
        </>
      }
    >
      {alone ? null : measured ? (
        <Hovered hover={chosen.hover}>
          {(hovered) => (
            <LineChart
              label={label}
              height={height}
              small={small}
              colour={small ? metric.colour : "ink"}
              hidden={crowd}
              overlay={overlay}
              segments={segments}
              stops={axis.stops}
              pad={axis.pad}
              lines={lines}
              scale={scale}
              end={end}
              above={above}
              reference={small ? undefined : level}
              hovered={hovered}
              selected={chosen.selected}
              hover={chosen.hover.set}
              select={chosen.select}
              tip={(stop, near) => tipOf(shown, axis.stops[stop]!, stop, near, overlay)}
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

/** Whether there is one point: nothing that it could be compared with. */
const isAlone = ({ lines, crowd }: Shown): boolean =>
  crowd.value.length + sum(lines, ({ points }) => points.filter((point) => point !== null).length) < 2;

/** Applies to all pictures of the view: what is cut off in one is often cut off in the next. */
export function WholeAxis({ whole, tab }: { whole: boolean; tab: Tab }) {
  return (
    <div class="chips">
      <button
        aria-pressed={whole}
        data-hint={whole ? "Leave values far above the others out of the axes" : "Draw the axes to the highest value"}
        onClick={() => tab.update({ axis: whole ? null : "all" })}
      >
        Whole axis
      </button>
    </div>
  );
}

/** Small pictures label segments with "step" only. */
const withoutSpan = (segment: LineSegment): LineSegment => ({
  ...segment,
  caption: segment.caption.replace(/^span \d+, /, ""),
});

/** Digits of a scalar, whose scale is not known. */
const SCALAR_DIGITS = 5;

/** Of runs that are drawn as one group only the one that is pointed at is listed. */
function tipOf(
  { lines, crowd, at: points, scale }: Shown,
  { key, segment, at }: LineStop,
  stop: number,
  near: string | null,
  overlay: Overlay | null,
): TipContent {
  const others = valuesAt(crowd, stop).length;
  const rows = (points.get(stop) ?? []).map(([line, point]) => {
    const range =
      point.low == null || point.high == null ? "" : ` (${scale.number(point.low)} to ${scale.number(point.high)})`;
    const { focus, hue, strong } = line;
    const name = line.key === GROUP ? `Median of ${count(others)} others` : line.name;
    return { mark: <LineSample {...{ focus, hue, strong }} />, name, value: scale.text(point.value) + range };
  });
  const pointed = near === null ? undefined : crowd.lines.find((line) => line.key === near);
  if (pointed && !lines.some((line) => line.key === near))
    rows.push({
      mark: <LineSample focus={false} />,
      name: pointed.name,
      value: scale.text(valueIn(crowd, near!, stop)),
    });
  const more = rows.length - TIP_RUNS;
  const rest = more > 0 ? [{ name: `and ${more} more`, value: "" }] : [];
  // over time, the current value: the last one up to that moment
  const last = overlay?.points.findLast((point) => point.segment === segment && point.at <= at);
  const own = last ? [{ name: overlay!.name, value: String(Number(last.value.toPrecision(SCALAR_DIGITS))) }] : [];
  return { title: stopTitle(key), rows: [...rows.slice(0, TIP_RUNS), ...rest, ...own] };
}

/** Turns a key into "Step 9, span 1". */
export function stopTitle(key: string): string {
  const slash = key.indexOf("/");
  const step = key.slice(slash + 1);
  return step === "" ? `Span ${key.slice(0, slash)}` : `Step ${step}, span ${key.slice(0, slash)}`;
}

function spokenLines(title: string, lines: readonly ChartLine[], scale: Scale): string {
  const ranges = lines.slice(-TIP_RUNS).map((line) => {
    const values = line.points.flatMap((point) => (point === null || point.value === null ? [] : [point.value]));
    if (values.length === 0) return `${line.name}: not measured`;
    return `${line.name}: ${scale.number(min(values)!)} to ` + `${scale.text(max(values)!)}`;
  });
  return `${title}. ${ranges.join(". ")}.`;
}

/** The reason that the server gives, shown in place of the picture. */
function whyNot(runs: readonly Run[], metric: Metric, meanings: Meanings): string {
  for (const { result } of runs.flatMap((run) => run.spans)) {
    const reason = seriesOf(result, metric.id)?.reason;
    if (reason) return sentence(meanings.explain(reason));
  }
  return `${metric.label} cannot be measured here.`;
}

/** One row per point; workers have a column where they are lines of their own. */
function tableOf(metric: Metric, runs: readonly Run[], axis: TrendAxis): TableData {
  const figure = (label: string) => ({ label, unit: metric.unit });
  const byWorker = runs.some((run) => run.worker !== undefined);
  const most = runs.reduce((many, run) => Math.max(many, run.workers), 0);
  const [low, high] = most >= MANY_WORKERS ? ["10th percentile", "90th percentile"] : ["Least", "Greatest"];
  const columns = [
    { label: "Run" },
    ...(byWorker ? [{ label: "Worker" }] : []),
    { label: "Span", unit: "count" as const },
    { label: "Step" },
    figure(metric.label),
    ...(most > 1 ? [figure(`${low} of its workers`), figure(`${high} of its workers`)] : []),
  ];
  const rows = runs.flatMap((run) =>
    axis.pointsOf(run).flatMap(({ aggregate }) => {
      if (!aggregate) return [];
      const { value, low, high } = stepValue(aggregate, metric.id);
      const place = byWorker ? [run.name.split("\n")[0]!, run.worker ?? ""] : [run.name];
      return [[...place, aggregate.number, aggregate.step, value, low, high].slice(0, columns.length)];
    }),
  );
  return { columns, rows };
}

interface Chosen extends Pick<TrendPictureProps, "runs" | "group" | "of" | "compared"> {
  small: boolean;
  /** The axis shows all values. */
  whole: boolean;
}

interface Shown {
  lines: readonly ChartLine[];
  crowd: Crowd;
  /**
   * The points of the lines at each stop, those of the line in focus first, so that a moving pointer does not search
   * for them again.
   */
  at: ReadonlyMap<number, Pointed>;
  scale: Scale;
  /** The median of the run in focus. */
  level: { value: number; name: string } | undefined;
  measured: boolean;
  /** The highest value on the axis, where it cuts some off, and a text about these. */
  end: number | null;
  above: string;
}

type Pointed = readonly (readonly [line: ChartLine, point: LinePoint])[];

/**
 * What a picture of a metric draws: a line for each of some runs, and one for all others together. changes: those of
 * all metrics; the ones of this metric in the run in focus are marked.
 */
export function shownLines(
  metric: Metric,
  { runs, group, of, compared, small, whole }: Chosen,
  axis: TrendAxis,
  changes: readonly Change[],
): Shown {
  const changed = changes.filter((change) => change.metric === metric.id);
  const alone = runs.map((run, at): ChartLine => {
    const line = lineOf(run, axis, metric.id, at === runs.length - 1, spansOf(changed, run));
    return { ...line, hue: runs.length + group.length > 1 ? run.hue : undefined, strong: run.name === compared };
  });
  // in small pictures it is not possible to point at one of many
  const pointedAt = of === "runs" || !small ? group : [];
  const crowd = crowdOf(
    pointedAt.map((run) => crowdLine(run, axis, metric.id)),
    axis.stops.length,
  );
  // where workers are drawn, the line of their run already stands for all of them
  const lines = group.length > 0 && of === "runs" ? [groupLine(crowd, axis), ...alone] : alone;
  const measured = lines.some(({ points }) => points.some((point) => point?.value != null || point?.high != null));
  // shares end at 100 %: none can be far above
  const end = whole || metric.unit === "fraction" ? null : axisEnd(lines, crowd);
  const scale = scaleFor(largestShown(lines, end), metric.unit);
  const level = reference(lines, metric.unit, axis.over);
  const above = aboveText(valuesAbove(lines, crowd, end), metric.unit);
  return { lines, crowd, at: pointsByStop(lines), scale, level, measured, end, above };
}

/** The most characters of a run's name in a picture. */
const NAME_LENGTH = 28;

/** "1 value above the axis: 12.3 s" */
function aboveText(found: Above | null, unit: Unit): string {
  if (found === null) return "";
  const [low, high] = [text(found.low, unit), text(found.high, unit)];
  const of = found.name === null ? "" : ` (${shortened(found.name, NAME_LENGTH)})`;
  return `${counted(found.count, "value")} above the axis${of}: ${low === high ? high : `${low} to ${high}`}`;
}

/** The median of many runs at each stop, and the range that contains four fifths of them. */
function groupLine(crowd: Crowd, { stops }: TrendAxis): ChartLine {
  const points = stops.map((_, stop) => {
    const middle = bandOf(valuesAt(crowd, stop));
    return middle && { stop, value: middle.median, low: middle.low, high: middle.high };
  });
  return { key: GROUP, name: `Median of ${count(crowd.lines.length)} other runs`, focus: false, group: true, points };
}

/** No folder name contains a line break. */
const GROUP = "\n";

const spansOf = (changes: readonly Change[], { name }: Run): Set<number> =>
  new Set(changes.filter((change) => change.run === name).map((change) => change.span));

function lineOf(run: Run, axis: TrendAxis, metric: string, focus: boolean, changed: Set<number>): ChartLine {
  const { aggregates, stop, at } = axis.placesOf(run);
  const { value, low, high } = figuresOf(aggregates, metric);
  const slow = focus ? slowIn(aggregates) : null; // no other line has rings
  const points = Array.from(at, (place, index): LinePoint | null =>
    place < 0
      ? null
      : {
          stop: stop[index]!,
          value: orNull(value[place]!),
          low: orNull(low[place]!),
          high: orNull(high[place]!),
          slow: slow?.has(place) ?? false,
          // only the first point of a span that differs is marked: the set then drops the span
          changed: focus && changed.delete(aggregates[place]!.number),
        },
  );
  return { key: run.name, name: nameOf(run), focus, points };
}

const nameOf = ({ workers, label }: Run): string =>
  workers >= MANY_WORKERS ? `${label}, median of ${workers} workers` : label;

function crowdLine(run: Run, axis: TrendAxis, metric: string): CrowdLine {
  const { aggregates, stop, at } = axis.placesOf(run);
  const { value } = figuresOf(aggregates, metric);
  return {
    key: run.name,
    name: nameOf(run),
    stops: stop,
    values: Float64Array.from(at, (place) => value[place] ?? NaN),
  };
}

/**
 * The median of the points of the run in focus. With two or three points it would say nothing. Points that are means of
 * spans have another median than the steps, which the title names.
 */
function reference(lines: readonly ChartLine[], unit: Unit, over: Over): Shown["level"] {
  const focus = lines.find((line) => line.focus);
  const values = focus?.points.flatMap((point) => (point === null || point.value === null ? [] : [point.value])) ?? [];
  const value = values.length > 3 ? bandOf(values)?.median : undefined;
  return value === undefined
    ? undefined
    : { value, name: `${over === "spans" ? "median span" : "median"} ${text(value, unit)}` };
}

function pointsByStop(lines: readonly ChartLine[]): ReadonlyMap<number, Pointed> {
  const found = new Map<number, [ChartLine, LinePoint][]>();
  for (const line of [...lines].sort((a, b) => rank(a) - rank(b)))
    for (const point of line.points) if (point) cached(found, point.stop, () => []).push([line, point]);
  return found;
}

const rank = ({ focus, strong, key }: ChartLine): number => (focus ? 0 : strong ? 1 : key === GROUP ? 2 : 3);
