import { Countdown } from "../components/countdown";
import { Note } from "../components/note";
import { clock } from "../format";
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
