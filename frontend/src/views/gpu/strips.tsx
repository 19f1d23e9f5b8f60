import { useMemo } from "preact/hooks";
import type { DeviceGpu, GpuResult, GpuStrip, Metric, Phrase, Series } from "../../api.gen";
import { type Zoom, zoomKey, zoomOf } from "../../charts/time/time_bins";
import { Ramp } from "../../colour";
import type { StackLayer } from "../../charts/time/bin_layers";
import { type StackRow, StripStack } from "../../charts/time/metric_rows";
import { Picture } from "../../components/picture";
import type { TableData } from "../../components/data_table";
import { ns, percent, scaleFor, sentence, share } from "../../format";
import type { Meanings } from "../../meanings";
import type { Chosen } from "../choices";
import type { Tab } from "../props";

interface GpuStripsProps {
  result: GpuResult;
  device: DeviceGpu;
  title: Phrase;
  /** Of the span. */
  number: number;
  chosen: Chosen;
  tab: Tab;
  name: string;
}

const FULL = 1000;

/** Figures that share a strip: the second is the hatched sense of the first. */
const BESIDE: Readonly<Record<string, string>> = { loader_exposed_share: "loader_hidden_share" };

/** Not drawn: utilization and copies say it apart. */
const LEFT_OUT = new Set(["busy_share"]);

/** A longer name is said short in the gutter. */
const LETTERS = 22;

const nameOf = ({ label, short }: Metric): string => (label.length > LETTERS && short ? short : label);

/** All figures of a device over the span. */
export function GpuStrips({ result, device, title, number, chosen, tab, name }: GpuStripsProps) {
  const whole = result.end_ns - result.start_ns;
  const zoom = zoomWithin(result, tab.state["zoom"]);
  const rows = useMemo(() => rowsOf(device, tab.meanings), [device, tab.meanings]);
  const steps = useMemo(() => marksOf(result), [result]);
  const [from, to] = zoom ?? [0, whole];
  const spoken = rows
    .filter((row) => row.value !== "")
    .map((row) => `${row.name} ${row.value}`)
    .join(", ");
  return (
    <Picture
      title={title}
      sub={
        zoom ? (
          <>
            {ns(to - from)} of span {number}{" "}
            <button class="link" onClick={() => tab.update({ zoom: null })}>
              Show all
            </button>
          </>
        ) : (
          `span ${number}, ${ns(whole)}, exact overlap; drag to zoom`
        )
      }
      name={`gpu over time ${name}`}
      table={() => tableOf(device, tab.meanings)}
      link={() => tab.address()}
      tools={
        <Ramp
          colour="kernel"
          low={share(0)}
          high={share(1)}
          label={`Scale of the strips, from ${share(0)} to ${share(1)}`}
        />
      }
    >
      <StripStack
        label={`${sentence(title)}. Figures over ${ns(whole)}: ${spoken}.`}
        rows={rows}
        steps={steps}
        whole={whole}
        zoom={zoom}
        setZoom={(next) =>
          tab.update({ zoom: next && zoomKey([next[0] + result.start_ns, next[1] + result.start_ns]) })
        }
        scale={scaleFor(whole, "ns")}
        lit={chosen.lit}
        kept={chosen.kept}
        light={chosen.light}
        keep={chosen.keep}
      />
    </Picture>
  );
}

/** The address counts from the span's origin, as in every view; the picture from the first step. */
function zoomWithin({ start_ns: start, end_ns: end }: GpuResult, key: string | undefined): Zoom | null {
  const zoom = zoomOf(key, end);
  return zoom && zoom[0] >= start ? [zoom[0] - start, zoom[1] - start] : null;
}

const marksOf = (result: GpuResult) =>
  result.steps.map((step) => ({
    key: step.name,
    from: step.start_ns - result.start_ns,
    to: step.end_ns - result.start_ns,
    text: `step ${step.name}, ${ns(step.end_ns - step.start_ns)}`,
  }));

/** Strips in the order of the server; a figure that it cannot measure keeps its place among them and says why. */
export function rowsOf(device: DeviceGpu, meanings: Meanings): StackRow[] {
  const apart = new Set([...LEFT_OUT, ...Object.values(BESIDE)]);
  const rows = device.strips.filter((strip) => !apart.has(strip.metric)).map((strip) => rowOf(device, strip, meanings));
  device.tiles.forEach((tile, at) => {
    if (rows.some((row) => row.key === tile.metric)) return;
    const before = rows.findIndex((row) => row.key === device.tiles[at - 1]?.metric);
    rows.splice(before + 1, 0, emptyRow(tile, meanings));
  });
  return rows;
}

function emptyRow({ metric: key, reason }: Series, meanings: Meanings): StackRow {
  const metric = meanings.metric(key);
  const why = reason && sentence(meanings.explain(reason));
  return {
    key,
    name: nameOf(metric),
    meaning: metric.meaning,
    value: percent(null),
    thin: false,
    layers: [],
    reason: why,
  };
}

function rowOf(device: DeviceGpu, strip: GpuStrip, meanings: Meanings): StackRow {
  const metric = meanings.metric(strip.metric);
  const second = device.strips.find((other) => other.metric === BESIDE[strip.metric]);
  const layers = [layerOf(strip, meanings, false), ...(second ? [layerOf(second, meanings, true)] : [])];
  const tile = device.tiles.find((series) => series.metric === strip.metric);
  return {
    key: strip.metric,
    name: nameOf(metric),
    meaning: metric.meaning,
    value: percent(tile ? tile.value : strip.value),
    thin: second !== undefined,
    layers,
    reason: null,
  };
}

function layerOf(strip: GpuStrip, meanings: Meanings, hatched: boolean): StackLayer {
  const { label, colour } = meanings.metric(strip.metric);
  return {
    name: label,
    colour,
    hatched,
    levels: strip.levels.map((level) => ({ start: 0, bin: level.bin_ns, values: level.permille })),
  };
}

/** Every figure in the coarsest bins: the table of a person, not of a machine. */
function tableOf(device: DeviceGpu, meanings: Meanings): TableData {
  const levels = device.strips.flatMap((strip) => strip.levels.slice(0, 1));
  const columns = device.strips.map((strip) => ({
    label: meanings.metric(strip.metric).label,
    unit: "fraction" as const,
  }));
  const rows = (levels[0]?.permille ?? []).map((_, bin) => [
    bin * levels[0]!.bin_ns,
    ...levels.map((level) => shareOf(level.permille[bin] ?? null)),
  ]);
  return { columns: [{ label: "Time", unit: "ns" }, ...columns], rows };
}

const shareOf = (permille: number | null): number | null => (permille === null ? null : permille / FULL);
