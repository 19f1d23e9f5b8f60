import { useEffect, useState } from "preact/hooks";
import { Note } from "../components/note";
import { clock, wait } from "../format";
import type { Trouble } from "../server/rounds";

interface GoneProps {
  /** When the figures came. */
  received_ms: number;
  trouble: Trouble;
  now(): void;
}

/** The server is gone, the figures stay. */
export function Gone({ received_ms, trouble: { problem, retry_ms }, now }: GoneProps) {
  return (
    <Note cause={`${problem.problem}.`} live>
      These figures are from {clock(received_ms)}. <Countdown retry_ms={retry_ms} /> <button onClick={now}>Now</button>
    </Note>
  );
}

/** Not read aloud each second. */
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
