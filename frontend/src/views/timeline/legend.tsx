/** The line between the overview and the picture: which tracks are shown, and what the colours mean. */

import type { ComponentChildren, RefObject } from "preact";
import { type Colour, Swatch } from "../../colour";
import { Keys } from "../../components/keys";
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
  ["excess", "Does not repeat"],
];

interface TracksAndLegendProps {
  field: RefObject<HTMLInputElement | null>;
  filter: string;
  write(filter: string): void;
  leave(): void;
  /** The numbers of shown tracks and of all tracks. */
  shown: number;
  all: number;
  /** The colours that occur. */
  colours: ReadonlySet<Colour>;
  /** Colours whose events are dimmed. */
  off: ReadonlySet<string>;
  dim(off: ReadonlySet<string>): void;
  /** "tensor cores", or what the vendor of the GPU calls them. */
  matrixUnits: string;
  /** Further controls for the tracks. */
  children: ComponentChildren;
}

export function TracksAndLegend(props: TracksAndLegendProps) {
  const { field, filter, write, leave, shown, all, colours, off, dim, matrixUnits, children } = props;
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
      <Keys
        label="Colours"
        keys={meaningsFor(matrixUnits)
          .filter(([colour]) => colours.has(colour))
          .map(([colour, label]) => ({ id: colour, label, mark: <Swatch colour={colour} /> }))}
        off={off}
        choose={dim}
      />
    </div>
  );
}
