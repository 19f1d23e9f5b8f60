import { sum } from "d3-array";
import type { PartMeaning, ProductionLane, ReadyQueue, Recorded, RecordedWorker } from "../../api.gen";
import type { StopSelection } from "../../charts/pointer/pointing";
import { partRow } from "../../charts/pointer/tip";
import { Keys, keyOfPart, useHidden } from "../../components/keys";
import { Picture } from "../../components/picture";
import type { Column } from "../../components/table";
import { count, counted, fine, scaleFor, share } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import type { Titles, ViewPart } from "../props";
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

export type ProductionPart = PartMeaning;

type PartId = "dataset" | "collate" | "transfer" | "idle" | "ready" | "trains" | "loop_waits" | "reader_waits";

/** Throws where the catalogue lacks the part: then the server and this bundle are of different versions. */
export function partOf({ production_parts: parts }: Meanings, id: PartId): ProductionPart {
  const found = parts.find((part) => part.id === id);
  if (!found) throw new Error(`The catalogue holds no part ${id}. Reload the page.`);
  return found;
}

/** The parts in the order of the numbers in ProductionLane.part. */
const laneParts = (meanings: Meanings): readonly ProductionPart[] =>
  (["dataset", "collate", "transfer", "idle"] as const).map((id) => partOf(meanings, id));

/** A loader without workers produces batches in the main process, which trains in between. */
function partsOfLanes(meanings: Meanings, lanes: readonly { worker: number }[]): readonly ProductionPart[] {
  if (lanes.some((lane) => lane.worker >= 0)) return laneParts(meanings);
  return (["dataset", "collate", "trains"] as const).map((id) => partOf(meanings, id));
}

/** The main process produces batches itself where it has no workers. */
export const workerName = (worker: number): string => (worker < 0 ? "Main process" : `Worker ${worker}`);

/** The counts of one worker, or of all of them. */
type Sampled = Pick<RecordedWorker, "batches" | "sampled" | "kind">;

/** What limits the process that produces batches: "I/O-bound"; null where that is not known. */
export const limitOf = ({ kind }: Pick<Sampled, "kind">, { limits }: Meanings) =>
  kind === null ? null : (limits[kind] ?? kind);

/** Which batches a figure is based on; undefined where it is based on all. */
export function sampledText({ batches, sampled }: Sampled): string | undefined {
  if (sampled >= batches) return undefined;
  return sampled === 0
    ? "No batch of it was sampled"
    : `Of ${count(sampled)} of its ${counted(batches, "batch", "batches")}: the others were not sampled`;
}

/** A note below the figures of several workers; null where all batches were sampled. */
export function sampledInAll(rows: readonly Sampled[]): string | null {
  const { sampled, batches } = summed(rows);
  if (sampled >= batches) return null;
  if (sampled === 0) return "CPU, No core and Limit are not known: no batch was sampled.";
  return `CPU, No core and Limit are of ${count(sampled)} sampled batches of ${count(batches)}.`;
}

const summed = (rows: readonly Sampled[]) => ({
  sampled: sum(rows, (row) => row.sampled),
  batches: sum(rows, (row) => row.batches),
});

export interface LoaderNames {
  /** Whether a name is needed at all. */
  several: boolean;
  /** The name of the loader with that number in the recording. */
  of(loader: number): string;
  /** Puts the loader's name before a text, where there are several: "Training loader: worker 0". */
  before(loader: number, text: string): string;
  /** The index of a loader in the order in which they are shown. */
  place(loader: number): number;
}

export function loaderNames({ loaders }: Pick<Recorded, "loaders">): LoaderNames {
  const place = (loader: number) => loaders.findIndex((each) => each.loader === loader);
  const of = (loader: number) => loaders[place(loader)]!.label;
  return {
    several: loaders.length > 1,
    of,
    place,
    before: (loader, text) =>
      loaders.length === 1 ? text : `${of(loader)}: ${text.charAt(0).toLowerCase()}${text.slice(1)}`,
  };
}

export const loaderColumn = <Row extends { loader: number }>(names: LoaderNames, width: string): Column<Row> => ({
  id: "loader",
  label: "Loader",
  width,
  order: (row) => names.place(row.loader),
  cell: (row) => names.of(row.loader),
  hint: (row) => names.of(row.loader),
  file: [{ label: "Loader", of: (row) => names.of(row.loader) }],
});
