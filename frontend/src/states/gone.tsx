import { useEffect, useState } from "preact/hooks";
import { Note } from "../components/note";
import { clock, wait } from "../format";

interface GoneProps {
  /** When the figures came. */
  heard_ms: number;
  retry_ms: number;
  now(): void;
}

/** The server is gone, the figures stay. */
export function Gone({ heard_ms, retry_ms, now }: GoneProps) {
  const left = useSecondsUntil(retry_ms);
  return (
    <Note cause="TensorBoard does not answer." live>
      These figures are from {clock(heard_ms)}. {left > 0 ? `Trying again in ${wait(left)}.` : "Trying again."}{" "}
      <button onClick={now}>Now</button>
    </Note>
  );
}

function useSecondsUntil(time_ms: number): number {
  const seconds = () => Math.ceil((time_ms - Date.now()) / 1000);
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    setLeft(seconds());
    const timer = setInterval(() => setLeft(seconds()), 1000);
    return () => clearInterval(timer);
  }, [time_ms]);
  return left;
}
