/**
 * Memory: how much is allocated over time, what is alive at the peak or any instant, what grows, and what allocates it.
 */

import type { DeviceMemory, MemoryResult } from "../../api.gen";
import { recordingOf } from "../../components/about";
import { Code } from "../../components/copy";
import { Section } from "../../components/picture";
import { Remark } from "../../components/sentence";
import { bytes, counted } from "../../format";
import type { Meanings } from "../../meanings";
import { rangeOf } from "../../time_range";
import { DeviceChips } from "../chips";
import { zoomWithin } from "../choices";
import type { SpanViewProps } from "../props";
import { ToDo } from "../to_do";
import { Alive } from "./alive";
import { MemoryCurve } from "./curve";
import { type MemoryPart, useMemoryPage } from "./data";
import { ByModule, Fits, Settings } from "./fit/fits";
import { SnapshotChoice } from "./snapshot/choice";
import { ByOp, Churn, GrowthTable } from "./tables";

export function Memory(props: SpanViewProps<"memory">) {
  const { result } = props.page;
  const place = result.devices[props.tab.state.memory ?? 0] ? (props.tab.state.memory ?? 0) : 0;
  const device = result.devices[place];
  return (
    <div class="view" data-view="memory">
      <SnapshotChoice run={props.page.head.run} chosen={null} tab={props.tab} />
      {device ? (
        <OfDevice {...props} device={device} place={place} />
      ) : (
        <NotRecorded result={result} meanings={props.tab.meanings} />
      )}
    </div>
  );
}

/** Less is a counter or a seed on the CPU, beside memory that was not recorded: there is nothing to draw of it. */
const LITTLE_BYTES = 1000;

function OfDevice({ page, tab, device, place }: SpanViewProps<"memory"> & { device: DeviceMemory; place: number }) {
  const { result, head, titles } = page;
  const whole = rangeOf(result);
  const zoom = zoomWithin(tab.state, whole);
  const chosen = tab.state.instant === undefined ? null : result.start_ns + tab.state.instant;
  const instant = chosen !== null && chosen <= result.end_ns ? chosen : null;
  const window = zoom ?? (instant === null ? null : whole);
  const answer = useMemoryPage(tab.source, head.id, { device: place, window, at: instant });
  const name = `${recordingOf(head)} ${device.name}`;
  const part: MemoryPart = { result, device, place, titles, tab, name, zoom, instant, answer };
  return (
    <>
      {result.devices.length > 1 && (
        <DeviceChips
          chosen={place}
          choose={(at) => tab.update({ memory: at || null })}
          devices={result.devices.map((each, at) => ({ id: at, label: shortName(each), meaning: each.name }))}
        />
      )}
      {device.peak.allocated_bytes < LITTLE_BYTES ? (
        <>
          <Little device={device} />
          <ToDo page={page} here="memory" tab={tab} />
        </>
      ) : (
        <Drawn {...part} page={page} />
      )}
    </>
  );
}

function Drawn({ page, ...part }: MemoryPart & Pick<SpanViewProps<"memory">, "page">) {
  const { device, tab } = part;
  return (
    <>
      <MemoryCurve {...part} />
      <Alive {...part} />
      <div class="split memory-split">
        <GrowthTable {...part} />
        <ToDo page={page} here="memory" tab={tab} />
        {device.whole && <Churn {...part} />}
        <ByOp {...part} />
        {(device.device !== null || page.head.device_names.length === 0) && (
          <>
            <Fits {...part} />
            <ByModule {...part} />
            <Settings {...part} />
          </>
        )}
      </div>
    </>
  );
}

const Little = ({ device }: { device: DeviceMemory }) => (
  <section class="unknown">
    <h2>Hardly anything is allocated on the {shortName(device)}</h2>
    <p class="quiet">
      The most at any time is {bytes(device.peak.allocated_bytes)}, by {counted(device.events, "recorded event")}.
    </p>
  </section>
);

const shortName = ({ device }: DeviceMemory): string => (device === null ? "CPU" : `GPU ${device}`);

const FLAG = "profile(..., profile_memory=True, record_shapes=True, with_stack=True)";

/** The reason that the headline already gives. */
const SAID_ABOVE = "memory_not_recorded";

const RECORDED =
  "The profiler then records each allocation and each free, which slows the CPU, small ops most: do not compare step " +
  "times with those of other recordings. With with_stack=True it also names the line of code that allocates.";

/** Which option records it, and what that costs. */
function NotRecorded({ result: { unknown }, meanings }: { result: MemoryResult; meanings: Meanings }) {
  return (
    <Section class="unknown" title="Record allocations" details={RECORDED}>
      <Remark phrase={unknown && unknown.code !== SAID_ABOVE ? meanings.explain(unknown) : null} class="quiet" />
      <Code text={FLAG} />
    </Section>
  );
}
