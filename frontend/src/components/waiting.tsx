/**
 * How waiting is shown: nothing at first, then that something is in progress, how far it is, or when it is tried again.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../api.gen";
import { wait } from "../format";

/** A wait shorter than this is not shown: text that comes and goes at once flickers. */
const LATE_MS = 300;

interface LateProps {
  /** Counted from the first rendering. */
  after_ms?: number;
  /** Shown until then. */
  meanwhile?: ComponentChildren;
  children: ComponentChildren;
}

export function Late({ after_ms = LATE_MS, meanwhile = null, children }: LateProps) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), after_ms);
    return () => clearTimeout(timer);
  }, [after_ms]);
  return <>{late ? children : meanwhile}</>;
}

interface NotYetProps {
  problem: Problem | null;
  /** What is being read, as a sentence. */
  reads: string;
  /** The height of what will be in its place, so that nothing below moves. */
  height_px?: number;
}

/** In place of what comes apart from its page: what is being read for it, or why it is not there. */
export const NotYet = ({ problem, reads, height_px }: NotYetProps) => (
  <p class="quiet" role="status" style={{ minHeight: height_px }}>
    {problem ? textOf(problem) : <Late>{reads}</Late>}
  </p>
);

export const textOf = ({ problem, hint }: Problem): string => `${problem}. ${hint}`;

/** Something is in progress, and how far it is cannot be known. */
export function Busy({ label }: { label: string }) {
  return (
    <div class="progress busy" role="progressbar" aria-label={label}>
      <i />
    </div>
  );
}

/** How much of a file has been read, as a bar. percent: 0 to 100. */
export function BytesRead({ percent }: { percent: number }) {
  return (
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
  );
}

/** How much has been read, in whole percent, 100 at most; 0 where the size is not known. */
export const percentOf = (read: number, total: number): number =>
  Math.min(100, total > 0 ? Math.floor((100 * read) / total) : 0);

interface FailureProps {
  problem: Problem;
  /** When the next automatic attempt is; null: only on a click. */
  retry_ms: number | null;
}

/** The file of a problem, behind what the problem is. */
export const FileOf = ({ problem: { file } }: Pick<FailureProps, "problem">) =>
  file ? (
    <>
      {" "}
      File: <code>{file}</code>
    </>
  ) : null;

/** What to do about a problem, and when it is tried again. */
export const WayOut = ({ problem, retry_ms }: FailureProps) => (
  <p class="quiet">
    {problem.hint}
    {retry_ms !== null && (
      <>
        {" "}
        <Countdown retry_ms={retry_ms} />
      </>
    )}
  </p>
);

/** When the next attempt is. It is not read aloud every second. */
export function Countdown({ retry_ms }: { retry_ms: number }) {
  const left = useSecondsUntil(retry_ms);
  return <span aria-live="off">{left > 0 ? `Trying again in ${wait(left)}.` : "Trying again."}</span>;
}

function useSecondsUntil(time_ms: number): number {
  const [left, setLeft] = useState(() => secondsUntil(time_ms));
  useEffect(() => {
    setLeft(secondsUntil(time_ms));
    const timer = setInterval(() => setLeft(secondsUntil(time_ms)), 1000);
    return () => clearInterval(timer);
  }, [time_ms]);
  return left;
}

const secondsUntil = (time_ms: number): number => Math.ceil((time_ms - Date.now()) / 1000);
