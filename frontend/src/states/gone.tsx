import { useEffect, useState } from "preact/hooks";
import { Note } from "../components/note";
import { clock, wait } from "../format";

interface GoneProps {
  /** When the figures came. */
  received_ms: number;
  retry_ms: number;
  now(): void;
}

/** The server is gone, the figures stay. */
export function Gone({ received_ms, retry_ms, now }: GoneProps) {
  const left = useSecondsUntil(retry_ms);
  return (
    <Note cause="TensorBoard does not answer." live>
      These figures are from {clock(received_ms)}. {left > 0 ? `Trying again in ${wait(left)}.` : "Trying again."}{" "}
      <button onClick={now}>Now</button>
    </Note>
  );
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
