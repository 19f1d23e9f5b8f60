import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

/** A wait shorter than this is not told: words that come and go at once are flicker. */
export const LATE_MS = 300;

interface LateProps {
  /** From its first drawing. */
  after_ms?: number;
  /** Stands there until then. */
  meanwhile?: ComponentChildren;
  children: ComponentChildren;
}

/** Draws what it holds only once it has stood for a while. */
export function Late({ after_ms = LATE_MS, meanwhile = null, children }: LateProps) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), after_ms);
    return () => clearTimeout(timer);
  }, [after_ms]);
  return <>{late ? children : meanwhile}</>;
}

/** Something goes on, nobody knows how far it is. */
export function Busy({ label }: { label: string }) {
  return (
    <div class="progress busy" role="progressbar" aria-label={label}>
      <i />
    </div>
  );
}
