/** A metric of all chosen runs as a picture, large or small. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Change, Metric, Phrase } from "../../api.gen";
import { valueIn, valuesAt } from "../../charts/lines/crowd";
import { LineChart } from "../../charts/lines/line_chart";
import type { ChartLine, LineSegment, LineStop, Overlay } from "../../charts/lines/line_layout";
import type { TipContent } from "../../charts/pointer/tip";
import { LineSample } from "../../colour";
import type { TableData } from "../../components/data_table";
import { NoPicture, Picture } from "../../components/picture";
import { count, type Scale } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import type { Tab } from "../props";
import type { TrendAxis } from "./axis";
import type { Cast } from "./cast";
import { Hovered, type TrendSelection } from "./hover";
import { MANY_WORKERS, type Run, seriesOf, stepValue } from "./runs";
import { GROUP, type Shown, shownLines } from "./shown_lines";

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
  const segments = useMemo(() => (small ? axis.segments.map(withoutSpan) : axis.segments), [axis, small]);
  const height = small ? SMALL_HEIGHT : group.length > 0 ? MANY_HEIGHT : HEIGHT;
  const label = useMemo(() => spokenLines(sentence(title), lines, scale), [title, lines, scale]);
  if (small && !measured)
    return <NoPicture title={metric.label} why={whyNot([...group, ...runs], metric, tab.meanings)} />;
  return (
    <Picture
      title={title}
      sub={sub}
      details={measured ? details : null}
      name={`${metric.id} trend`}
      table={() => tableOf(metric, [...group, ...runs], axis)}
      link={() => tab.address({ metric: metric.id })}
      tools={
        <>
          {!small && (whole || end !== null) && <WholeAxis whole={whole} tab={tab} />}
          {tools}
        </>
      }
    >
      {measured ? (
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
  const held = overlay?.points.findLast((point) => point.segment === segment && point.at <= at);
  const own = held ? [{ name: overlay!.name, value: String(Number(held.value.toPrecision(SCALAR_DIGITS))) }] : [];
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
    return (
      `${line.name}: ${scale.number(values.reduce((a, b) => Math.min(a, b)))} to ` +
      `${scale.text(values.reduce((a, b) => Math.max(a, b)))}`
    );
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
