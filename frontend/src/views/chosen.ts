/** One chosen step for all pictures of a view: lit while the pointer is there, kept in the address after a press. */

import { useState } from "preact/hooks";
import type { Tab } from "./props";

export interface Chosen {
  /** Under the pointer or the focus, in whichever picture. */
  lit: string | null;
  kept: string | null;
  light(key: string | null): void;
  /** The same a second time drops it. */
  keep(key: string | null): void;
}

export function useChosen(tab: Tab): Chosen {
  const [pointed, setPointed] = useState<string | null>(null);
  const kept = tab.state["step"] ?? null;
  return {
    lit: pointed,
    kept,
    light: setPointed,
    keep: (key) => tab.update({ step: key === kept ? null : key }),
  };
}
