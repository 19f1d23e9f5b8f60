/** In the picture's place while there are no events yet: the trace is read again, or cannot be. */

import type { Problem, Waiting } from "../../api.gen";
import { bytesOf, roughCount } from "../../format";
import type { Loaded } from "./data/loading";

/** Null where the picture is there and nothing is wrong. */
export function Notice({ pages, waiting, problem, gone, again }: Loaded) {
  if (problem) return <Trouble problem={problem} again={again} small={pages.length > 0} />;
  if (gone)
    return (
      <p class={pages.length > 0 ? "notice low" : "notice"}>TensorBoard does not answer. The tab goes on asking.</p>
    );
  if (pages.length > 0) return null;
  return waiting ? <ReadingAgain waiting={waiting} /> : <p class="notice quiet">Opening.</p>;
}

function Trouble({
  problem: { problem, file, hint },
  again,
  small,
}: {
  problem: Problem;
  again(): void;
  small: boolean;
}) {
  return (
    <div class={small ? "notice low" : "notice"} role="alert">
      <p>
        <b>{problem}.</b>
        {file && (
          <>
            {" "}
            File: <code>{file}</code>
          </>
        )}
      </p>
      <p class="quiet">{hint}</p>
      <p class="actions">
        <button class="button low" onClick={again}>
          Try again
        </button>
      </p>
    </div>
  );
}

function ReadingAgain({ waiting: { progress } }: { waiting: Waiting }) {
  const percent =
    progress && progress.total_bytes > 0
      ? Math.min(100, Math.floor((100 * progress.read_bytes) / progress.total_bytes))
      : 0;
  return (
    <div class="notice">
      <p>
        <b>
          Reading the trace again for its events{progress && `: ${bytesOf(progress.read_bytes, progress.total_bytes)}`}
        </b>
      </p>
      <div
        class="progress"
        role="progressbar"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        aria-label="Bytes read"
      >
        <i style={{ width: `${percent}%` }} />
      </div>
      <p class="quiet">
        {progress ? `${roughCount(progress.events)} events so far. ` : "Not begun yet. "}Its figures are kept in a
        summary, its single events are not.
      </p>
    </div>
  );
}
