import { useRef } from "preact/hooks";
import type { Index } from "../api.gen";
import { selections } from "../selection";

/** Says aloud, to those who listen, which span was read last. */
export function Finished({ index }: { index: Index }) {
  const ready = useRef<ReadonlySet<string> | null>(null);
  const said = useRef("");
  const now = selections(index).filter(({ span }) => span.state === "ready");
  const fresh = ready.current && now.filter(({ span }) => !ready.current!.has(span.id)).at(-1);
  if (fresh) said.current = `${fresh.run.name}, ${fresh.worker.name}, span ${fresh.span.number} is read.`;
  ready.current = new Set(now.map(({ span }) => span.id));
  return (
    <p class="heard" role="status">
      {said.current}
    </p>
  );
}
