import { useMemo } from "preact/hooks";
import type { DeviceGpu, GpuResult, Metric, MetricLevels, Phrase } from "../../api.gen";
import type { StopSelection } from "../../charts/pointer/pointing";
import type { BinLayer } from "../../charts/time/time_bins";
import { Ramp } from "../../colour";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { Definitions } from "../../components/sentence";
import { ns, percent, scaleFor, share } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { lengthOf, type TimeRange } from "../../time_range";
import { ShowAll } from "../chips";
import { zoomWithin } from "../choices";
import type { Tab, ViewPart } from "../props";
import { Unknown } from "../tiles";
import { type MetricRow, MetricRows } from "./charts/metric_rows";

interface GpuOverTimeProps extends ViewPart {
  result: GpuResult;
  device: DeviceGpu;
  title: Phrase;
  number: number;
  chosen: StopSelection;
}

const FULL = 1000;

/** Figures that share a row: the second one uses the hatched sense of the first. */
const SECOND_SENSE: Readonly<Record<string, string>> = { loader_exposed_share: "loader_hidden_share" };

/** Not drawn: utilization and copies show it separately. */
const LEFT_OUT = new Set(["busy_share"]);

/** A longer name uses its short form in the gutter. */
const LETTERS = 22;

const nameOf = ({ label, short }: Metric): string => (label.length > LETTERS && short ? short : label);

export function GpuOverTime({ result, device, title, number, chosen, tab, name }: GpuOverTimeProps) {
  const whole = result.end_ns - result.start_ns;
  const zoom = relativeZoom(result, tab);
  const rows = useMemo(() => rowsOf(device, tab.meanings), [device, tab.meanings]);
  const steps = useMemo(() => marksOf(result), [result]);
  const shown = zoom ? lengthOf(zoom) : whole;
  const spoken = rows.map((row) => `${row.name} ${row.value}`).join(", ");
  const empty = device.tiles.filter(({ metric }) => !rows.some(({ key }) => key === metric));
  return (
    <Picture
      title={title}
      sub={
        zoom ? (
          <>
            {ns(shown)} of span {number} <ShowAll zoom={zoom} tab={tab} />
          </>
        ) : (
          `span ${number}, ${ns(whole)}`
        )
      }
      name={`gpu over time ${name}`}
      table={() => tableOf(device, tab.meanings)}
      tools={
        <Ramp
          colour="kernel"
          low={share(0)}
          high={share(1)}
          label={`Scale of the rows, from ${share(0)} to ${share(1)}`}
        />
      }
    >
      <MetricRows
        label={`${sentence(title)}. Figures over ${ns(whole)}: ${spoken}.`}
        rows={rows}
        steps={steps}
        whole={whole}
        zoom={zoom}
        setZoom={(next) => tab.update({ zoom: next && shifted(next, result.start_ns) })}
        scale={scaleFor(whole, "ns")}
        {...chosen}
      />
      <Unknown figures={empty} meanings={tab.meanings} />
      <Definitions of={rows.map(({ key }) => tab.meanings.metric(key))} />
    </Picture>
  );
}

/** The address counts from the span's origin, as in every view; the picture from the first step. */
function relativeZoom({ start_ns: from, end_ns: to }: GpuResult, tab: Tab): TimeRange | null {
  const zoom = zoomWithin(tab.state, { from, to });
  return zoom && shifted(zoom, -from);
}

const shifted = ({ from, to }: TimeRange, by: number): TimeRange => ({ from: from + by, to: to + by });

const marksOf = (result: GpuResult) =>
  result.steps.map((step) => ({
    key: step.name,
    from: step.start_ns - result.start_ns,
    to: step.end_ns - result.start_ns,
    text: `step ${step.name}, ${ns(step.end_ns - step.start_ns)}`,
  }));

/** Figures in time bins, in the server's order. */
export function rowsOf(device: DeviceGpu, meanings: Meanings): MetricRow[] {
  const apart = new Set([...LEFT_OUT, ...Object.values(SECOND_SENSE)]);
  return device.time_bins
    .filter((binned) => !apart.has(binned.metric))
    .map((binned) => rowOf(device, binned, meanings));
}

function rowOf(device: DeviceGpu, binned: MetricLevels, meanings: Meanings): MetricRow {
  const metric = meanings.metric(binned.metric);
  const second = device.time_bins.find((other) => other.metric === SECOND_SENSE[binned.metric]);
  const layers = [layerOf(binned, meanings, false), ...(second ? [layerOf(second, meanings, true)] : [])];
  const tile = device.tiles.find((series) => series.metric === binned.metric);
  return {
    key: binned.metric,
    name: nameOf(metric),
    meaning: metric.meaning,
    value: percent(tile ? tile.value : binned.value),
    thin: second !== undefined,
    layers,
  };
}

function layerOf(binned: MetricLevels, meanings: Meanings, hatched: boolean): BinLayer {
  const { label, colour } = meanings.metric(binned.metric);
  return {
    name: label,
    colour,
    hatched,
    levels: binned.levels.map((level) => ({ start: 0, bin: level.bin_ns, values: level.permille })),
  };
}

/** Every figure in the coarsest bins: the table is for a person, not for a machine. */
function tableOf(device: DeviceGpu, meanings: Meanings): TableData {
  const levels = device.time_bins.flatMap((binned) => binned.levels.slice(0, 1));
  const columns = device.time_bins.map((binned) => ({
    label: meanings.metric(binned.metric).label,
    unit: "fraction" as const,
  }));
  const rows = (levels[0]?.permille ?? []).map((_, bin) => [
    bin * levels[0]!.bin_ns,
    ...levels.map((level) => shareOf(level.permille[bin] ?? null)),
  ]);
  return { columns: [{ label: "Time", unit: "ns" }, ...columns], rows };
}

const shareOf = (permille: number | null): number | null => (permille === null ? null : permille / FULL);
