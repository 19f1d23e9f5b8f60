import { CopyButton } from "../../components/copy";

/** Two lines in the training script. `place` is the folder of the run, as the log directory names it. */
export const recorderLines = (place: string): string => `from tb_steptime.record import LoaderRecorder
loader = LoaderRecorder(${JSON.stringify(place)}).watch(loader)`;

/**
 * What a recorder would answer: of workers, of a batch that the main process makes, or of a loader without marks.
 */
const ASKED = {
  workers: {
    title: "What do the workers do meanwhile?",
    says:
      "A trace does not show worker processes. Two lines of code record what each worker does, " +
      "dataset and collate time, CPU time and the slowest batches.",
  },
  batch: {
    title: "Which part of a batch takes its time?",
    says:
      "Two lines of code record dataset and collate time, CPU time and the slowest batches, and " +
      "the workers once there are some.",
  },
  thread: {
    title: "Does another thread read a DataLoader?",
    says:
      "A trace does not show what the thread of a prefetcher does. Two lines of code record it: how " +
      "fast batches are produced and used, what each worker does, and the slowest batches.",
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
