/** In the picture's place while there are no events yet: the trace is read again, or cannot be. */

import type { Problem, Waiting } from "../../api.gen";
import { BytesRead, percentOf } from "../../components/bytes_read";
import { Countdown } from "../../components/countdown";
import { Busy, Late } from "../../components/late";
import { bytesOf, roughCount } from "../../format";
import { isFinal } from "../../server/recorded";
import type { Loaded } from "./data/loading";

/** Null where the picture is there and nothing is wrong. */
export function Notice({ pages, waiting, problem, gone, again }: Loaded) {
  const small = pages.length > 0;
  if (problem) return <Failure problem={problem} again={again} small={small} />;
  if (gone) return <Failure problem={gone.problem} retry_ms={gone.retry_ms} again={again} small={small} />;
  if (small) return null;
  return <Late>{waiting ? <ReadingAgain waiting={waiting} /> : <Opening />}</Late>;
}

function Opening() {
  return (
    <div class="notice">
      <p>
        <b>Opening the events of this step</b>
      </p>
      <Busy label="Opening the events" />
    </div>
  );
}

interface FailureProps {
  problem: Problem;
  /** When it is tried again by itself; null: only on a press. */
  retry_ms?: number | null;
  again(): void;
  small: boolean;
}

function Failure({ problem: failed, retry_ms = null, again, small }: FailureProps) {
  const { problem, file, hint } = failed;
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
      <p class="quiet">
        {hint}
        {retry_ms !== null && (
          <>
            {" "}
            <Countdown retry_ms={retry_ms} />
          </>
        )}
      </p>
      {!isFinal(failed) && (
        <p class="actions">
          <button class="button low" onClick={again}>
            Try again
          </button>
        </p>
      )}
    </div>
  );
}

function ReadingAgain({ waiting: { progress } }: { waiting: Waiting }) {
  const percent = progress ? percentOf(progress.read_bytes, progress.total_bytes) : 0;
  return (
    <div class="notice">
      <p>
        <b>
          Reading the trace file again, to show single events
          {progress && `: ${bytesOf(progress.read_bytes, progress.total_bytes)}`}
        </b>
      </p>
      <BytesRead percent={percent} />
      <p class="quiet">
        {progress ? `${roughCount(progress.events)} events so far. ` : "Not begun yet. "}The summary of this trace has
        its figures, but not its single events.
      </p>
    </div>
  );
}
