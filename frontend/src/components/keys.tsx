/** Explains the marks of a picture. A click hides a series; a double click, or Alt and a click, hides all others. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { PartMeaning } from "../api.gen";
import { Swatch } from "../colour";
import { onlyThis, toggled } from "./legend";

export interface SeriesKey {
  id: string;
  label: string;
  meaning?: string | undefined;
  /** The mark as the picture draws it. */
  mark: ComponentChildren;
}

export const keyOfPart = ({ id, label, meaning, colour, hatched }: PartMeaning): SeriesKey => ({
  ...{ id, label, meaning },
  mark: <Swatch colour={colour} hatched={hatched} />,
});

interface KeysProps {
  /** What the series are, in the plural. */
  label: string;
  keys: readonly SeriesKey[];
  off: ReadonlySet<string>;
  choose(off: ReadonlySet<string>): void;
}

export function Keys({ label, keys, off, choose }: KeysProps) {
  const ids = keys.map((key) => key.id);
  return (
    <ul class="series-keys" aria-label={`${label}. A button shows or hides its series.`}>
      {keys.map(({ id, label, meaning, mark }) => (
        <li key={id}>
          <button
            class={off.has(id) ? "off" : ""}
            aria-pressed={!off.has(id)}
            data-hint={[meaning, "Double click shows it alone."].filter(Boolean).join(" ")}
            onClick={(event) => choose(event.altKey ? onlyThis(id, ids, off) : toggled(id, off))}
            onDblClick={() => choose(onlyThis(id, ids, off))}
          >
            {off.has(id) ? <i class="swatch hollow" /> : mark}
            {label}
          </button>
        </li>
      ))}
    </ul>
  );
}

const NONE: ReadonlySet<string> = new Set();

/** The hidden series of one picture alone. */
export const useHidden = () => useState(NONE);
