import type { ProductionLane, ReadyQueue, Recorded } from "../../api.gen";
import type { StopSelection } from "../../charts/pointer/pointing";
import { partRow } from "../../charts/pointer/tip";
import { Keys, keyOfPart, useHidden } from "../../components/keys";
import { Picture } from "../../components/picture";
import { count, counted, fine, scaleFor, share } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import type { Titles, ViewPart } from "../props";
import {
  type LoaderNames,
  laneParts,
  loaderNames,
  type ProductionPart,
  partOf,
  partsOfLanes,
  workerName,
} from "./batch_production";
import { Production } from "./charts/production";

export interface RecordedProps extends ViewPart {
  recorded: Recorded;
  titles: Titles;
  /** A separate thread reads from the loader: its waits are not waits of the training loop. */
  byReader: boolean;
  chosen: StopSelection;
}

/** Which worker produces what when, and how many batches are ready, on the same time axis as the steps. */
export function ProductionPicture({ recorded, titles, chosen, tab, name }: RecordedProps) {
  const { lanes, queues, steps, marks_ns: marks, start_ns: from, end_ns: to } = recorded;
  const title = titles.workers_over_time!;
  const names = loaderNames(recorded);
  const parts = laneParts(tab.meanings);
  const [off, hide] = useHidden();
  if (lanes.length === 0) return null;
  const named = lanes.map((lane) => names.before(lane.loader, workerName(lane.worker)));
  const requests = queues.flatMap((queue) => requestsOf(queue, names));
  return (
    <Picture title={title} name={`workers over time ${name}`} table={() => segmentsTable(lanes, named, from, parts)}>
      <Production
        label={
          `${sentence(title)}. ${counted(lanes.length, "lane")} over ` +
          `${counted(steps.length, "step")}${requests.length > 0 ? `; ${requests.join("; ")}` : ""}.`
        }
        from={from}
        to={to}
        scale={scaleFor(to - from, "ns")}
        parts={parts.map((part) => ({ ...part, hidden: off.has(part.id) }))}
        steps={steps.map((key, at) => ({ key, at: marks[at]! }))}
        lanes={lanes.map((lane, at) => ({ key: `${lane.loader} ${lane.worker}`, name: named[at]!, ...lane }))}
        depths={queues.map((queue) => ({
          key: String(queue.loader),
          name: names.before(queue.loader, "Batches ready"),
          ...queue,
        }))}
        {...chosen}
        segmentTip={(lane, segment) => tipOf(lanes[lane]!, named[lane]!, segment, from, tab.meanings)}
      />
      <Keys
        label="Parts of batch production"
        keys={partsOfLanes(tab.meanings, lanes).map(keyOf)}
        off={off}
        choose={hide}
      />
      {requests.length > 0 && <p class="quiet small aside">{requests.join("; ")}.</p>}
    </Picture>
  );
}

/** Whether the training loop finds its batch ready. */
function requestsOf({ loader, late_share: late }: ReadyQueue, names: LoaderNames): string[] {
  if (late === null) return [];
  if (late === 0) return [names.before(loader, "Every request finds its batch ready")];
  return [names.before(loader, `${share(late)} of the requests find their batch not ready`)];
}

/** The part that is called idle elsewhere is training in the lanes of the main process. */
const keyOf = (part: ProductionPart) => ({
  ...keyOfPart(part),
  id: part.id === "trains" ? "idle" : part.id,
  label: part.label.toLowerCase(),
});

function tipOf(lane: ProductionLane, name: string, segment: number, from: number, meanings: Meanings) {
  const own = laneParts(meanings)[lane.part[segment]!]!;
  const part = own.id === "idle" && lane.worker < 0 ? partOf(meanings, "trains") : own;
  const batch = lane.batch[segment]!;
  const [start, end] = [lane.start_ns[segment]!, lane.end_ns[segment]!];
  return {
    title: batch < 0 ? name : `${name}, batch ${count(batch)}`,
    rows: [partRow(part, fine(end - start)), { name: "From", value: fine(start - from) }],
  };
}

function segmentsTable(
  lanes: readonly ProductionLane[],
  names: readonly string[],
  from: number,
  parts: readonly ProductionPart[],
) {
  const rows = lanes.flatMap((lane, row) =>
    lane.start_ns.map((start, at) => [
      names[row]!,
      lane.batch[at]! < 0 ? null : lane.batch[at]!,
      parts[lane.part[at]!]?.label ?? "",
      start - from,
      lane.end_ns[at]! - from,
    ]),
  );
  return {
    columns: [
      { label: "Worker" },
      { label: "Batch", unit: "count" as const },
      { label: "Part" },
      { label: "From", unit: "ns" as const },
      { label: "To", unit: "ns" as const },
    ],
    rows,
  };
}
