/** A metric of all chosen runs as a picture, large or small. */

import { useMemo } from "preact/hooks";
import type { Change, Metric, Phrase } from "../../api.gen";
import { LineChart } from "../../charts/lines/line_chart";
import type { ChartLine, LineSegment } from "../../charts/lines/line_layout";
import { NAME_LENGTH } from "../../charts/lines/line_marks";
import type { TipContent } from "../../charts/pointer/tip";
import { LineSample } from "../../colour";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { type Scale, scaleFor, shortened } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import type { StepSelection } from "../choices";
import type { Tab } from "../props";
import type { TrendAxis } from "./axis";
import { isSlow, medianOf, type Run, stepValue } from "./runs";

interface TrendPictureProps {
  metric: Metric;
  title: Phrase;
  sub?: string;
  runs: readonly Run[];
  axis: TrendAxis;
  /** Of all metrics; those of this one and of the run in focus are marked. */
  changes: readonly Change[];
  chosen: StepSelection;
  tab: Tab;
  small?: boolean;
}

const HEIGHT = 232;
const SMALL_HEIGHT = 112;

/** Runs in a tip; the legend has them all. */
const TIP_RUNS = 8;

export function TrendPicture({
  metric,
  title,
  sub,
  runs,
  axis,
  changes,
  chosen,
  tab,
  small = false,
}: TrendPictureProps) {
  const { lines, scale, level, measured } = useMemo(
    () => drawnFrom(metric, runs, axis, changes),
    [metric, runs, axis, changes],
  );
  const segments = useMemo(() => (small ? axis.segments.map(withoutSpan) : axis.segments), [axis, small]);
  const height = small ? SMALL_HEIGHT : HEIGHT;
  const label = useMemo(() => spokenLines(sentence(title), lines, scale), [title, lines, scale]);
  return (
    <Picture
      title={title}
      sub={sub}
      name={`${metric.id} trend`}
      table={() => tableOf(metric, runs, axis)}
      link={() => tab.address({ metric: metric.id })}
    >
      {measured ? (
        <LineChart
          label={label}
          height={height}
          small={small}
          colour={small ? metric.colour : "ink"}
          segments={segments}
          stops={axis.stops}
          pad={axis.pad}
          lines={lines}
          scale={scale}
          reference={small ? undefined : level}
          hovered={chosen.hovered}
          selected={chosen.selected}
          hover={chosen.hover}
          select={chosen.select}
          tip={(stop) => tipOf(stop, axis, lines, scale)}
        />
      ) : (
        <p class="unmeasured" style={{ height: `${height}px` }}>
          {whyNot(runs, metric, tab.meanings)}
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

function drawnFrom(metric: Metric, runs: readonly Run[], axis: TrendAxis, changes: readonly Change[]) {
  const changed = changes.filter((change) => change.metric === metric.id);
  const lines = runs.map((run) => lineOf(run, axis, metric.id, run === runs[runs.length - 1], spansOf(changed, run)));
  const values = lines
    .flatMap((line) => line.points.flatMap((point) => [point?.value ?? null, point?.high ?? null]))
    .filter((value) => value !== null);
  const scale = scaleFor(
    values.reduce((a, b) => Math.max(a, b), 0),
    metric.unit,
  );
  return { lines, scale, level: reference(lines, scale), measured: values.length > 0 };
}

const spansOf = (changes: readonly Change[], { name }: Run): Set<number> =>
  new Set(changes.filter((change) => change.run === name).map((change) => change.span));

function lineOf(run: Run, axis: TrendAxis, metric: string, focus: boolean, changed: Set<number>): ChartLine {
  const points = axis.pointsOf(run).map(({ stop, aggregate }) => {
    // Only the first point of the span that is another: the set forgets it.
    return (
      aggregate && {
        stop,
        ...stepValue(aggregate, metric),
        slow: isSlow(aggregate),
        changed: focus && changed.delete(aggregate.number),
      }
    );
  });
  return { key: run.name, name: run.name, focus, points };
}

/** The median of the run in focus. Of two or three points it would say nothing. */
function reference(lines: readonly ChartLine[], scale: Scale): { value: number; name: string } | undefined {
  const focus = lines.find((line) => line.focus);
  const values = focus?.points.flatMap((point) => (point === null || point.value === null ? [] : [point.value])) ?? [];
  const median = values.length > 3 ? medianOf(values) : null;
  return median === null
    ? undefined
    : { value: median, name: `${shortened(focus!.name, NAME_LENGTH)}, median ${scale.text(median)}` };
}

function tipOf(stop: number, { stops }: TrendAxis, lines: readonly ChartLine[], scale: Scale): TipContent {
  const rows = [...lines].reverse().flatMap((line) => {
    const point = line.points.find((each) => each?.stop === stop);
    if (!point) return [];
    const range =
      point.low == null || point.high == null ? "" : ` (${scale.number(point.low)} to ${scale.number(point.high)})`;
    return [{ mark: <LineSample focus={line.focus} />, name: line.name, value: scale.text(point.value) + range }];
  });
  return { title: stopTitle(stops[stop]!.key), rows: rows.slice(0, TIP_RUNS) };
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

function tableOf(metric: Metric, runs: readonly Run[], axis: TrendAxis): TableData {
  const rows = runs.flatMap((run) =>
    axis.pointsOf(run).flatMap(({ aggregate }) => {
      if (!aggregate) return [];
      const { value, low, high } = stepValue(aggregate, metric.id);
      return [[run.name, aggregate.number, aggregate.step, value, low, high]];
    }),
  );
  const figure = (label: string) => ({ label, unit: metric.unit });
  const ranged = runs.some((run) => run.workers > 1);
  const columns = [
    { label: "Run" },
    { label: "Span", unit: "count" as const },
    { label: "Step" },
    figure(metric.label),
  ];
  if (!ranged) return { columns, rows: rows.map((row) => row.slice(0, columns.length)) };
  return { columns: [...columns, figure("Least of its workers"), figure("Greatest of its workers")], rows };
}
