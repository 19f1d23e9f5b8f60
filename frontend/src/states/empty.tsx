import type { Index } from "../api.gen";
import { Code } from "../components/copy";
import { Note } from "../components/note";
import { clock, counted } from "../format";

/** Six lines that record six steps. `place` is where TensorBoard looks. */
export const snippet = (place: string): string => `import torch.profiler as tp
with tp.profile(schedule=tp.schedule(wait=1, warmup=1, active=6),
                on_trace_ready=tp.tensorboard_trace_handler(${JSON.stringify(place)})) as p:
    for batch in loader:
        train_step(batch)
        p.step()`;

/** No trace yet: how to record one, and where was looked. */
export function Empty({ index }: { index: Index }) {
  const first = index.places[0]?.replace(/\/+$/, "") ?? "runs";
  return (
    <>
      <h1 class="title">No traces in this log directory yet.</h1>
      <p class="quiet">Record six steps and write them where TensorBoard looks. They appear here by themselves.</p>
      <div class="snippet">
        <Code text={snippet(`${first}/a`)} />
      </div>
      <p class="faint small">
        Looked in {index.places.join(", ") || "no directory"} and {counted(index.folders, "folder")} below, last at{" "}
        {clock(index.scanned_at_ms)}. Names end in .json, .json.gz, .pftrace or .pftrace.gz.
      </p>
      {index.problems.map((problem) => (
        <Note key={problem.file} cause={`${problem.problem}.`}>
          {problem.file} {problem.hint}
        </Note>
      ))}
    </>
  );
}
