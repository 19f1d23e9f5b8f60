/** Figures within the spans: one row for each span and device. */

import { sum } from "d3-array";
import { useMemo } from "preact/hooks";
import type { Metric, MetricBins, Phrase } from "../../api.gen";
import { meanWithin, shareOf } from "../../charts/time/time_bins";
import { Ramp } from "../../colour";
import { Chips } from "../../components/chips";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { count, counted, figure, percent, scaleFor } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import type { Tab } from "../props";
import { Heatmap, type HeatmapRow } from "./charts/heatmap";
import { Hovered, type TrendSelection } from "./hover";
import { stopTitle, WholeAxis } from "./lines";
import { type ReadSpan, type Run, stepKey } from "./runs";

interface HeatmapPictureProps {
  title: Phrase;
  runs: readonly Run[];
  chosen: TrendSelection;
  tab: Tab;
}

export function HeatmapPicture({ title, runs, chosen, tab }: HeatmapPictureProps) {
  const metrics = useMemo(() => binnedMetrics(runs, tab.meanings), [runs, tab.meanings]);
  const metric = metrics.find((each) => each.id === tab.state.strip) ?? metrics[0];
  const { placed, rows } = useMemo(() => rowsFor(runs, metric), [runs, metric]);
  const whole = tab.state.axis === "all";
  const lengths = useMemo(() => longestByRun(placed), [placed]);
  const cut = stripEnd(lengths);
  if (!metric) return null;
  const end = whole || cut === null ? Math.max(0, ...lengths) : cut;
  return (
    <Picture
      title={title}
      sub={whichRows(runs, placed)}
      details={MARK}
      below
      name={`${metric.id} time bins`}
      table={() => tableOf(placed, metric)}
      link={() => tab.address({ strip: metric.id })}
      tools={
        <>
          {cut !== null && <WholeAxis whole={whole} tab={tab} />}
          <Chips
            label="Figure of the rows"
            chosen={metric.id}
            options={metrics.map((each) => ({ id: each.id, label: each.label, meaning: each.meaning }))}
            choose={(strip) => tab.update({ strip })}
          />
          <Ramp colour={metric.colour} of={metric.label} />
        </>
      }
    >
      <Hovered hover={chosen.hover}>
        {(hovered) => (
          <Heatmap
            label={`${sentence(title)} ${metric.label} over time, one row for each span: ${placed
              .slice(0, 8)
              .map(([span, , run], at) => `${run.label} span ${span.number} ${rows[at]!.value}`)
              .join(", ")}.`}
            rows={rows}
            end={end}
            colour={metric.colour}
            scale={scaleFor(end, "ns")}
            hovered={hovered}
            selected={chosen.selected}
            hover={chosen.hover.set}
            select={chosen.select}
            tip={(row, step) => tipOf(placed[row]!, rows[row]!, step, metric)}
          />
        )}
      </Hovered>
    </Picture>
  );
}

/** The length of the longest span of each run, ns, in their order: the one in focus first. */
function longestByRun(placed: readonly Placed[]): number[] {
  const longest = new Map<Run, number>();
  for (const [, { bin_ns, permille }, run] of placed)
    longest.set(run, Math.max(longest.get(run) ?? 0, bin_ns * permille.length));
  return [...longest.values()];
}

function rowsFor(runs: readonly Run[], metric: Metric | undefined) {
  const placed = metric ? placedBins(runs, metric.id) : [];
  return { placed, rows: placed.map(([span, binned, run]) => rowOf(span, binned, run, metric!)) };
}

type Placed = readonly [span: ReadSpan, binned: MetricBins, run: Run];

/**
 * The run in focus comes first; with many spans only those with the longest steps are shown, of this run and then of
 * the others.
 */
function placedBins(runs: readonly Run[], metric: string): Placed[] {
  const rows = runs.map((run) =>
    run.spans.flatMap((span) =>
      span.result.time_bins.filter((binned) => binned.metric === metric).map((binned): Placed => [span, binned, run]),
    ),
  );
  if (!isMany(runs)) return rows.flat();
  const [focus, ...others] = rows;
  const length = new Map(runs.flatMap(({ spans }) => spans.map((span) => [span.id, meanStep(span)])));
  const worstFirst = ([a]: Placed, [b]: Placed) => length.get(b.id)! - length.get(a.id)!;
  return [...focus!.sort(worstFirst), ...others.flat().sort(worstFirst)];
}

/** More rows than a person reads one after the other. */
const MANY_ROWS = 40;

const countOf = (runs: readonly Run[]): number => sum(runs, ({ spans }) => spans.length);
const isMany = (runs: readonly Run[]): boolean => countOf(runs) > MANY_ROWS;

const meanStep = ({ result: { steps } }: ReadSpan): number =>
  steps.reduce((sum, { start_ns, end_ns }) => sum + end_ns - start_ns, 0) / Math.max(1, steps.length);

const MARK = "A line above a strip marks a slow step.";

/** Says which rows are shown, where they are not all rows in their usual order. */
function whichRows(runs: readonly Run[], placed: readonly Placed[]): string | undefined {
  const shown = new Set(placed.map(([span]) => span.id)).size;
  if (!isMany(runs)) return undefined;
  const which = shown < countOf(runs) ? `${count(shown)} of ${counted(countOf(runs), "span")}` : "";
  return [which, "longest steps first"].filter((part) => part !== "").join("; ");
}

/** The metrics that at least one span has, in the order in which the server gives them. */
function binnedMetrics(runs: readonly Run[], meanings: Meanings): Metric[] {
  const ids = new Set(
    runs.flatMap((run) => run.spans.flatMap((span) => span.result.time_bins.map((binned) => binned.metric))),
  );
  return [...ids].map((id) => meanings.metric(id));
}

function rowOf(span: ReadSpan, binned: MetricBins, run: Run, metric: Metric): HeatmapRow {
  const series = span.result.series.find((each) => each.metric === metric.id && each.device === binned.device);
  const { number, unit } = figure(series?.value ?? null, metric.unit);
  return {
    key: `${span.id} ${binned.device}`,
    name: run.label,
    second: [`span ${span.number}`, ...placeOf(span, binned, run)].join(", "),
    value: series ? `${number}\u00a0${unit}` : "",
    bins: { start: 0, bin: binned.bin_ns, values: binned.permille },
    steps: span.result.steps.map((step) => ({
      key: stepKey(span.number, step.name),
      from: step.start_ns - binned.start_ns,
      to: step.end_ns - binned.start_ns,
      slow: span.result.slow_steps.some((slow) => slow.name === step.name),
    })),
  };
}

/** Rank and device, where a run has several. */
function placeOf(span: ReadSpan, binned: MetricBins, run: Run): string[] {
  const devices = new Set(span.result.time_bins.map((each) => each.device)).size;
  const worker = span.rank === null ? span.worker : `rank ${span.rank}`;
  return [...(run.workers > 1 ? [worker] : []), ...(devices > 1 ? [`GPU ${binned.device}`] : [])];
}

/** The step's own figure; a further device, which has none, uses the mean of its bins. */
function tipOf([span, binned]: Placed, row: HeatmapRow, at: number, metric: Metric) {
  const step = row.steps[at]!;
  const series = span.result.series.find((each) => each.metric === metric.id && each.device === binned.device);
  const bins = series ? null : meanWithin(row.bins, step.from, step.to);
  const value = series ? (series.steps[at] ?? null) : shareOf(bins);
  const scale = scaleFor(step.to - step.from, "ns");
  return {
    title: `${row.name}, ${stopTitle(step.key)}`,
    rows: [
      { name: metric.label, value: percent(value) },
      { name: "Step time", value: scale.text(step.to - step.from) },
    ],
  };
}

function tableOf(placed: readonly Placed[], metric: Metric): TableData {
  const rows = placed.flatMap(([span, binned, run]) =>
    binned.permille.map((value, bin) => [
      run.name,
      span.worker,
      span.number,
      binned.device,
      binned.start_ns + bin * binned.bin_ns,
      shareOf(value),
    ]),
  );
  return {
    columns: [
      { label: "Run" },
      { label: "Worker" },
      { label: "Span", unit: "count" },
      { label: "Device", unit: "count" },
      { label: "Time", unit: "ns" },
      { label: metric.label, unit: metric.unit },
    ],
    rows,
  };
}

/**
 * A row this many times as long as the longest of the others goes beyond the axis: the others would have less than a
 * quarter of the width.
 */
const FAR = 4;

/** At most this share of the runs goes beyond the axis, but one always may. */
const FEW = 0.25;

/**
 * End of the axis, ns; null: the end of the longest row. lengths: the longest span of each run, that of the run in
 * focus first.
 */
export function stripEnd([focus = 0, ...others]: readonly number[]): number | null {
  const longest = others.sort((a, b) => b - a);
  const most = Math.max(1, Math.floor(FEW * (others.length + 1)));
  const end = (cut: number) => Math.max(focus, longest[cut] ?? 0);
  for (let cut = Math.min(most, longest.length); cut > 0; cut--)
    if (longest[cut - 1]! > FAR * end(cut)) return end(cut) || null;
  return null;
}
