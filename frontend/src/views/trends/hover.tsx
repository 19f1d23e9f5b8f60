/**
 * The step under the pointer, for all pictures at once: it bypasses the view, so that only marks are rendered again.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Tab } from "../props";

interface Hover {
  now(): string | null;
  set(key: string | null): void;
  listen(changed: () => void): () => void;
}

/** Like `StopSelection`, but without the step under the pointer, which `Hovered` provides. */
export interface TrendSelection {
  hover: Hover;
  selected: string | null;
  /** Selecting the same key again clears the selection. */
  select(key: string | null): void;
}

export function useTrendSelection({ state, update }: Tab): TrendSelection {
  const hover = useMemo(openHover, []);
  const selected = state.step ?? null;
  return useMemo(
    () => ({ hover, selected, select: (key) => update({ step: key === selected ? null : key }) }),
    [hover, selected, update],
  );
}

function openHover(): Hover {
  const listeners = new Set<() => void>();
  let key: string | null = null;
  return {
    now: () => key,
    set(next) {
      if (next === key) return;
      key = next;
      for (const changed of listeners) changed();
    },
    listen(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
}

/** Renders what depends on the step under the pointer, and nothing around it. */
export function Hovered({ hover, children }: { hover: Hover; children(key: string | null): ComponentChildren }) {
  const [key, setKey] = useState(hover.now);
  useEffect(() => hover.listen(() => setKey(hover.now())), [hover]);
  return <>{children(key)}</>;
}
