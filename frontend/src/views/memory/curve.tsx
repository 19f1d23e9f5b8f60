import type { DeviceMemory, MemoryBins } from "../../api.gen";
import { Swatch } from "../../colour";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { bytes, counted, fine, ns, scaleFor } from "../../format";
import { sentence } from "../../phrase";
import { lengthOf, rangeOf, type TimeRange } from "../../time_range";
import { ShowAll } from "../chips";
import { titleOf } from "../props";
import { type Curve, MemoryChart } from "./charts/memory_chart";
import type { MemoryAnswer, MemoryPart } from "./data";

/** "1.2 ms of 40 ms" */
export const Shown = ({ zoom, whole }: { zoom: TimeRange | null; whole: TimeRange }) => (
  <>
    {zoom ? `${fine(lengthOf(zoom))} of ` : ""}
    {ns(lengthOf(whole))}
  </>
);

/** Allocated and reserved over time. */
export function MemoryCurve({ result, device, place, titles, tab, name, zoom, instant, answer }: MemoryPart) {
  const title = titleOf({ titles }, `memory_curve.${place}`);
  const whole = rangeOf(result);
  const exact = zoom && answer.page ? answer.page.curve : null;
  return (
    <Picture
      title={title}
      sub={
        <>
          <Shown zoom={zoom} whole={whole} />
          {zoom && !exact ? `, ${coarse(answer)}` : ""} <ShowAll zoom={zoom} tab={tab} />
        </>
      }
      name={`memory ${name}`}
      table={() => curveTable(result.start_ns, exact ?? device.curve)}
    >
      <MemoryChart
        label={spoken(device, sentence(title))}
        whole={whole}
        zoom={zoom}
        setZoom={(next) => tab.update({ zoom: next })}
        steps={result.steps.map((step) => ({ label: step.name, ...rangeOf(step) }))}
        phases={result.steps.flatMap((step) =>
          step.phase_spans.filter((span) => !span.inner).map((span) => ({ label: span.label, ...rangeOf(span) })),
        )}
        curve={curveOf(exact ?? device.curve)}
        peak={{ at: device.peak.at_ns, bytes: device.peak.allocated_bytes }}
        calls={device.device === null ? [] : result.calls.map((call) => ({ label: call.name, at: call.start_ns }))}
        instant={instant}
        choose={(at) => tab.update({ instant: Math.round(at) - result.start_ns })}
        scale={scaleFor(lengthOf(whole), "ns")}
      />
      <CurveKeys
        used="allocated"
        cached={device.curve.reserved_most.length > 0}
        calls={device.device === null ? 0 : result.calls.length + result.more_calls}
      />
    </Picture>
  );
}

const coarse = ({ problem, waiting }: MemoryAnswer): string =>
  problem ? `coarse: ${problem.problem}` : waiting ? "reading the trace" : "coarse";

interface CurveKeysProps {
  /** The label of the area. */
  used: string;
  cached: boolean;
  calls?: number;
}

export function CurveKeys({ used, cached, calls = 0 }: CurveKeysProps) {
  return (
    <p class="memory-legend quiet">
      <Swatch colour="cpu" /> {used}
      {cached && (
        <>
          <Swatch colour="other" hatched /> reserved, not {used}
        </>
      )}
      {calls > 0 && <span>ticks: {counted(calls, "call")} to the driver for memory</span>}
    </p>
  );
}

export const curveOf = (bins: MemoryBins): Curve => ({
  from: bins.start_ns,
  to: bins.end_ns,
  least: bins.least,
  most: bins.most,
  reservedMost: bins.reserved_most,
});

function spoken({ peak, start_bytes, end_bytes }: DeviceMemory, title: string): string {
  return (
    `${title}. ${bytes(start_bytes)} allocated at the start, ${bytes(peak.allocated_bytes)} at the peak, ` +
    `${bytes(end_bytes)} at the end.`
  );
}

/** start_ns: the instant from which times count. */
export function curveTable(start_ns: number, bins: MemoryBins): TableData {
  const edge = (at: number) => bins.start_ns + Math.floor((at * lengthOf(rangeOf(bins))) / bins.most.length);
  const size = ["Allocated, least", "Allocated, most", "Reserved, most"];
  return {
    columns: [{ label: "Time", unit: "ns" }, ...size.map((label) => ({ label, unit: "bytes" as const }))],
    rows: bins.most.map((most, at) => [edge(at) - start_ns, bins.least[at]!, most, bins.reserved_most[at] ?? null]),
  };
}
