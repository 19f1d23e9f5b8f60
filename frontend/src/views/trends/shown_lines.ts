/** What a picture of a metric draws: a line for each of some runs, and one for all others together. */

import type { Change, Metric, Unit } from "../../api.gen";
import { crowdOf, valuesAt } from "../../charts/lines/crowd";
import type { ChartLine, Crowd, CrowdLine, LinePoint } from "../../charts/lines/line_layout";
import { count, counted, type Scale, scaleFor, shortened, text } from "../../format";
import type { TrendAxis } from "./axis";
import { type Cast, figuresOf, known, slowIn } from "./cast";
import { type Above, axisEnd, largestShown, valuesAbove } from "./charts/cut_axis";
import { bandOf, MANY_WORKERS, medianOf, type Run } from "./runs";

interface Chosen {
  /** Drawn individually, the one in focus last. */
  runs: readonly Run[];
  /** Drawn as one group. */
  group: readonly Run[];
  of: Cast["of"];
  compared: string | null;
  small: boolean;
  /** The axis shows all values. */
  whole: boolean;
}

export interface Shown {
  lines: readonly ChartLine[];
  /** The runs that are drawn as one group. */
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

/** changes: those of all metrics; the ones of this metric in the run in focus are marked. */
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
  const level = reference(lines, metric.unit);
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
export const GROUP = "\n";

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
          value: known(value[place]!),
          low: known(low[place]!),
          high: known(high[place]!),
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

/** The median of the run in focus. With two or three points it would say nothing. */
function reference(lines: readonly ChartLine[], unit: Unit): Shown["level"] {
  const focus = lines.find((line) => line.focus);
  const values = focus?.points.flatMap((point) => (point === null || point.value === null ? [] : [point.value])) ?? [];
  const median = values.length > 3 ? medianOf(values) : null;
  return median === null ? undefined : { value: median, name: `median ${text(median, unit)}` };
}

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
