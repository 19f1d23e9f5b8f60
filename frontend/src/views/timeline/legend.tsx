/** Between the overview and the picture: which tracks are shown, and what the colours mean. */

import type { ComponentChildren, RefObject } from "preact";
import { type Colour, Swatch } from "../../colour";
import { counted } from "../../format";

const meaningsFor = (matrixUnits: string): readonly (readonly [Colour, string])[] => [
  ["kernel", "Kernels"],
  ["tensor", `Kernels on ${matrixUnits}`],
  ["copy", "Copies"],
  ["comm", "Communication"],
  ["data", "Data loading"],
  ["cpu", "CPU ops"],
  ["runtime", "Runtime calls"],
  ["blocking", "Blocking"],
  ["other", "Python, other"],
];

interface TracksAndLegendProps {
  field: RefObject<HTMLInputElement | null>;
  filter: string;
  write(filter: string): void;
  leave(): void;
  /** Tracks that are shown, and all of them. */
  shown: number;
  all: number;
  /** Those that occur. */
  colours: ReadonlySet<Colour>;
  /** "tensor cores", as the maker of the GPU calls them. */
  matrixUnits: string;
  /** What else is chosen of the tracks. */
  children: ComponentChildren;
}

export function TracksAndLegend({
  field,
  filter,
  write,
  leave,
  shown,
  all,
  colours,
  matrixUnits,
  children,
}: TracksAndLegendProps) {
  const type = (event: KeyboardEvent) => {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    if (event.key === "Escape") write("");
    leave();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="legend-row small">
      <label>
        <span class="visually-hidden">Show tracks by name or kind</span>
        <input
          ref={field}
          class="field filter"
          type="search"
          placeholder="Filter tracks"
          value={filter}
          spellcheck={false}
          autocomplete="off"
          onKeyDown={type}
          onInput={(event) => write(event.currentTarget.value)}
        />
      </label>
      <span class="found" role="status">
        {filter.trim() !== "" && `${shown} of ${counted(all, "track")}`}
      </span>
      {children}
      <ul aria-label="Colours">
        {meaningsFor(matrixUnits)
          .filter(([colour]) => colours.has(colour))
          .map(([colour, meaning]) => (
            <li key={colour}>
              <Swatch colour={colour} />
              {meaning}
            </li>
          ))}
      </ul>
    </div>
  );
}
