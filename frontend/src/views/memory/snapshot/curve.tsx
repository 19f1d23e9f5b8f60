import type { DeviceSnapshot, MemoryBins } from "../../../api.gen";
import { Picture } from "../../../components/picture";
import { bytes, count, scaleFor } from "../../../format";
import type { TimeRange } from "../../../time_range";
import { MemoryChart } from "../charts/memory_chart";
import { CurveKeys, curveOf, curveTable, ShowAll, Shown } from "../curve";
import type { SnapshotPart } from "./part";

const TITLE = "How much is in use, and how much reserved?";

/** In use and reserved over time. */
export function SnapshotCurve(part: SnapshotPart & { curve: MemoryBins; zoom: TimeRange | null }) {
  const { page, device, tab, name, curve, zoom } = part;
  const whole = { from: 0, to: page.end_ns };
  return (
    <Picture
      title={TITLE}
      sub={
        <>
          <Shown zoom={zoom} whole={whole} />, {count(device.entries)} entries <ShowAll zoom={zoom} tab={tab} />
        </>
      }
      name={`memory ${name}`}
      table={() => curveTable(0, curve)}
    >
      <MemoryChart
        label={spoken(device)}
        whole={whole}
        zoom={zoom}
        setZoom={(next) => tab.update({ zoom: next })}
        steps={[]}
        phases={[]}
        curve={curveOf(curve)}
        peak={{ at: page.peak_ns, bytes: device.peak_in_use_bytes }}
        calls={[]}
        instant={tab.state.instant ?? null}
        choose={(at) => tab.update({ instant: Math.round(at) })}
        scale={scaleFor(page.end_ns, "ns")}
      />
      <CurveKeys used="in use" cached />
    </Picture>
  );
}

const spoken = ({ peak_in_use_bytes: peak, in_use_bytes: end }: DeviceSnapshot): string =>
  `${TITLE} ${bytes(peak)} in use at the peak, ${bytes(end)} at the end.`;
