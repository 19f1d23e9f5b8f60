/** Next to the title: another step, closer and further, and the search. */

import type { RefObject } from "preact";
import { count } from "../../format";

interface StepToolsProps {
  at: number | null;
  count: number;
  goTo(at: number): void;
  zoom(factor: number): void;
  reset(): void;
}

export function StepTools({ at, count: steps, goTo, zoom, reset }: StepToolsProps) {
  return (
    <div class="tools" role="group" aria-label="Step and zoom">
      <button
        class="button low"
        data-hint="Previous step, key ["
        disabled={at === null || at === 0}
        onClick={() => goTo(at! - 1)}
      >
        Previous step
      </button>
      <button
        class="button low"
        data-hint="Next step, key ]"
        disabled={at === null || at >= steps - 1}
        onClick={() => goTo(at! + 1)}
      >
        Next step
      </button>
      <button class="button low" data-hint="Further, key S" aria-label="Zoom out" onClick={() => zoom(1.6)}>
        −
      </button>
      <button class="button low" data-hint="Closer, key W" aria-label="Zoom in" onClick={() => zoom(1 / 1.6)}>
        +
      </button>
      <button class="button low" data-hint="The whole step, key 0 or double click" onClick={reset}>
        {steps > 0 ? "Whole step" : "Whole trace"}
      </button>
    </div>
  );
}

interface SearchProps {
  field: RefObject<HTMLInputElement | null>;
  words: string;
  /** Boxes visible that are highlighted; null while nothing is searched for. */
  found: number | null;
  write(words: string): void;
  next(backwards: boolean): void;
  leave(): void;
}

/** Enter goes to the next one, with Shift to the one before; Esc clears and gives the focus back to the picture. */
export function Search({ field, words, found, write, next, leave }: SearchProps) {
  const type = (event: KeyboardEvent) => {
    if (event.key === "Enter") next(event.shiftKey);
    else if (event.key === "Escape") {
      write("");
      leave();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <label class="seek">
      <span class="visually-hidden">Find events by name</span>
      <input
        ref={field}
        class="field filter"
        type="search"
        placeholder="Find by name"
        value={words}
        spellcheck={false}
        autocomplete="off"
        onKeyDown={type}
        onInput={(event) => write(event.currentTarget.value)}
      />
      <span class="found small" role="status">
        {found !== null && (found === 0 ? "none visible" : `${count(found)} visible`)}
      </span>
    </label>
  );
}
