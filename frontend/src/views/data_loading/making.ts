/** What goes on between a request and its batch: one colour and order in all pictures of recorded workers. */

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
