/** The parts of recorded batch production, and the names of parts, workers and loaders. */

import { sum } from "d3-array";
import type { PartMeaning, Recorded, RecordedWorker } from "../../api.gen";
import type { Column } from "../../components/table";
import { count, counted } from "../../format";
import type { Meanings } from "../../meanings";

export type ProductionPart = PartMeaning;

type PartId = "dataset" | "collate" | "transfer" | "idle" | "ready" | "trains" | "loop_waits" | "reader_waits";

/** Throws where the catalogue lacks the part: then the server and this bundle are of different versions. */
export function partOf({ production_parts: parts }: Meanings, id: PartId): ProductionPart {
  const found = parts.find((part) => part.id === id);
  if (!found) throw new Error(`The catalogue holds no part ${id}. Reload the page.`);
  return found;
}

/** The parts in the order of the numbers in ProductionLane.part. */
export const laneParts = (meanings: Meanings): readonly ProductionPart[] =>
  (["dataset", "collate", "transfer", "idle"] as const).map((id) => partOf(meanings, id));

/** A loader without workers produces batches in the main process, which trains in between. */
export function partsOfLanes(meanings: Meanings, lanes: readonly { worker: number }[]): readonly ProductionPart[] {
  if (lanes.some((lane) => lane.worker >= 0)) return laneParts(meanings);
  return (["dataset", "collate", "trains"] as const).map((id) => partOf(meanings, id));
}

/** The main process produces batches itself where it has no workers. */
export const workerName = (worker: number): string => (worker < 0 ? "Main process" : `Worker ${worker}`);

/** The counts of one worker, or of all of them. */
type Sampled = Pick<RecordedWorker, "batches" | "sampled" | "kind">;

/** What limits the process that produces batches: "I/O-bound"; null where too few batches were sampled. */
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
  before(loader: number, said: string): string;
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
    before: (loader, said) =>
      loaders.length === 1 ? said : `${of(loader)}: ${said.charAt(0).toLowerCase()}${said.slice(1)}`,
  };
}

/** Names the loader of a row, where there are several. */
export const loaderColumn = <Row extends { loader: number }>(names: LoaderNames, width: string): Column<Row> => ({
  id: "loader",
  label: "Loader",
  width,
  order: (row) => names.place(row.loader),
  cell: (row) => <span data-hint={names.of(row.loader)}>{names.of(row.loader)}</span>,
  file: [{ label: "Loader", of: (row) => names.of(row.loader) }],
});
