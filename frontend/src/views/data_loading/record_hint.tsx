import { CopyButton } from "../../components/copy";

/** Two lines in the training script. `place` is the folder of the run, as the log directory names it. */
export const recorderLines = (place: string): string => `from tb_steptime.record import LoaderRecorder
loader = LoaderRecorder(${JSON.stringify(place)}).watch(loader)`;

/**
 * What a recorder would answer: of workers, of a batch that the training process makes, or of a loader without marks.
 */
const ASKED = {
  workers: {
    title: "What do the workers do meanwhile?",
    says:
      "Worker processes are in no trace. Two lines record them beside it: each worker's lane, " +
      "dataset and collate apart, its CPU time, the slowest batches.",
  },
  batch: {
    title: "Which part of a batch takes its time?",
    says:
      "Two lines record dataset and collate apart, with the CPU time and the slowest batches, and " +
      "the workers once there are some.",
  },
  thread: {
    title: "Does another thread read a DataLoader?",
    says:
      "What a prefetcher's thread does is in no trace. Two lines record the loader beside it: how " +
      "fast batches are made and taken, each worker's lane, the slowest batches.",
  },
};

/** No trace holds everything: how to have it recorded. The lines are as wide as the column, and none is cut. */
export function RecordHint({ asks, place }: { asks: keyof typeof ASKED; place: string }) {
  const lines = recorderLines(place);
  return (
    <section class="picture record-hint">
      <div class="head">
        <h2>{ASKED[asks].title}</h2>
        <CopyButton text={() => lines} class="button low">
          Copy
        </CopyButton>
      </div>
      <p class="quiet small">{ASKED[asks].says}</p>
      <pre class="lines">{lines}</pre>
    </section>
  );
}
