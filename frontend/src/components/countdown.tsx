import { useEffect, useState } from "preact/hooks";
import { wait } from "../format";

/** When something is tried again. It is not read aloud each second. */
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
