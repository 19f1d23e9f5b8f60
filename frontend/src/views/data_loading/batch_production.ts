/** What recorded batch production is made of, and how its parts, workers and loaders are named. */

import { count, counted } from "../../format";
import type { Recorded } from "../../api.gen";

export interface MakingPart {
  id: "dataset" | "collate" | "transfer" | "idle";
  label: string;
  meaning: string;
  colour: string;
  hatched: boolean;
}

/** In the order of the numbers that the server draws pieces of lanes with. */
export const MAKING: readonly MakingPart[] = [
  {
    id: "dataset",
    label: "Dataset",
    meaning: "The dataset's own code: reading, decoding, transforms.",
    colour: "data",
    hatched: false,
  },
  { id: "collate", label: "Collate", meaning: "Samples are put together into a batch.", colour: "cpu", hatched: false },
  {
    id: "transfer",
    label: "Transfer",
    meaning: "The batch is on its way from the worker into the training process, pinning included.",
    colour: "copy",
    hatched: false,
  },
  {
    id: "idle",
    label: "Waits for a request",
    meaning: "The worker has nothing to make: the training process has asked for enough.",
    colour: "other",
    hatched: true,
  },
];

const TRAINS = { label: "Trains", meaning: "The training process makes no batch: it trains." };

/** A loader without workers makes batches in the training process, which has other things to do. */
export const makingOf = (lanes: readonly { worker: number }[]): readonly MakingPart[] =>
  lanes.some((lane) => lane.worker >= 0)
    ? MAKING
    : MAKING.filter((part) => part.id !== "transfer").map((part) =>
        part.id === "idle" ? { ...part, ...TRAINS } : part,
      );

/** Who asks for a batch and stands until it has it, by whether a thread of its own does. */
export const WAITS = {
  loop: { who: "The training loop waits", meaning: "The training loop asks for a batch and stands until it has it." },
  thread: {
    who: "The reading thread waits",
    meaning:
      "The thread that reads the loader asks for a batch and stands until it has it; whether the training loop waits meanwhile is not known.",
  },
};

/** "CPU-bound": what a worker's time goes to. */
export const BOUND: Readonly<Record<string, string>> = {
  cpu: "CPU-bound",
  io: "I/O-bound",
  mixed: "mixed",
  cores: "short of cores",
};

export const BOUND_MEANING =
  "CPU-bound: it computes nearly all the time. I/O-bound: it mostly waits for files or the network. Short of cores: it would compute, but waits for a core.";

/** The training process makes batches itself where it has no workers. */
export const workerName = (worker: number): string => (worker < 0 ? "Training process" : `Worker ${worker}`);

/** As of a worker or of all of them; `few_sampled` is the server's to judge. */
export interface Sampled {
  batches: number;
  sampled: number;
  kind: string | null;
  few_sampled: boolean;
}

/** What holds up who makes batches: "I/O-bound", "est. I/O-bound" where few tell. */
export function boundOf({ kind, few_sampled: few }: Pick<Sampled, "kind" | "few_sampled">): string | null {
  return kind === null ? null : `${few ? "est. " : ""}${BOUND[kind] ?? kind}`;
}

/** Of which batches a figure is; undefined where it is of all. */
export function sampledOf({ batches, sampled }: Sampled): string | undefined {
  if (sampled >= batches) return undefined;
  return sampled === 0
    ? "No batch of it was sampled"
    : `Of ${count(sampled)} of its ${counted(batches, "batch", "batches")}: the others were not sampled`;
}

/** Below the figures of several workers; null where all batches were sampled. */
export function sampledInAll(rows: readonly Sampled[]): string | null {
  const { sampled, batches } = summed(rows);
  if (sampled >= batches) return null;
  if (sampled === 0) return "CPU, No core and Limit are not known: no batch was sampled.";
  const few = rows.some((row) => row.few_sampled && row.kind !== null) ? "; est. where these are few" : "";
  return `CPU, No core and Limit are of ${count(sampled)} sampled batches of ${count(batches)}${few}.`;
}

export const summed = (rows: readonly Sampled[]) => ({
  sampled: sum(rows.map((row) => row.sampled)),
  batches: sum(rows.map((row) => row.batches)),
});

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

export interface LoaderNames {
  /** Whether a name needs to be said at all. */
  several: boolean;
  /** Of the loader with a recorder's number. */
  of(loader: number): string;
  /** Before what is said of one of several: "Training loader: worker 0". */
  before(loader: number, said: string): string;
  /** Loaders in the order in which they are shown. */
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
