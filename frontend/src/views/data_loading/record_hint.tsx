import { CopyButton } from "../../components/copy";

/** Two lines in the training script. `place` is the folder of the run, as the log directory names it. */
export const recorderLines = (place: string): string => `from tb_steptime.record import LoaderRecorder
loader = LoaderRecorder(${JSON.stringify(place)}).watch(loader)`;

/** No trace holds worker processes: how to have them recorded. The lines are as wide as the column, and none is cut. */
export function RecordHint({ workers, place }: { workers: boolean; place: string }) {
  const lines = recorderLines(place);
  return (
    <section class="picture record-hint">
      <div class="head">
        <h2>{workers ? "What do the workers do meanwhile?" : "Which part of a batch takes its time?"}</h2>
        <CopyButton text={() => lines} class="button low">Copy</CopyButton>
      </div>
      <p class="quiet small">
        {workers ? "Worker processes are in no trace. Two lines record them beside it: each worker's lane, dataset and collate apart, its CPU time, the slowest batches." : "Two lines record dataset and collate apart, with the CPU time and the slowest batches, and the workers once there are some."}
      </p>
      <pre class="lines">{lines}</pre>
    </section>
  );
}
