/** The search over all available events: how many it finds, on which tracks, and buttons to go from one to the next. */

import { sum } from "d3-array";
import type { RefObject } from "preact";
import type { SearchPage, Track } from "../../api.gen";
import { SearchField } from "../../components/filter";
import { count, ns } from "../../format";
import type { Found } from "./data/found";

interface SearchProps {
  field: RefObject<HTMLInputElement | null>;
  words: string;
  /** Whether it searches only what a report contains; else the whole recording is searched. */
  inReport: boolean;
  found: Found;
  tracks: readonly Track[];
  /** The track that is searched; null: all. */
  track: number | null;
  write(text: string): void;
  within(track: number | null): void;
  leave(): void;
}

/** Enter goes to the next hit, with Shift to the previous one; Esc clears and returns the focus to the picture. */
export function Search({ field, words, inReport, found, tracks, track, write, within, leave }: SearchProps) {
  const type = (event: KeyboardEvent) => {
    if (event.key === "Enter") found.next(event.shiftKey);
    else if (event.key === "Escape") {
      write("");
      leave();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const { page } = found;
  return (
    <search class="seek">
      <SearchField
        label={`Find events by name in ${inReport ? "this report" : "the whole recording"}`}
        placeholder={inReport ? "Find in this report" : "Find by name"}
        hint={inReport ? ONLY_HELD : undefined}
        typed={words}
        change={write}
        field={field}
        onKeyDown={type}
      />
      <span class="found small" role="status">
        {words.trim() !== "" && (page ? foundText(found, page, inReport) : "Searching")}
      </span>
      {page && page.tracks.length > 1 && <Where page={page} tracks={tracks} track={track} within={within} />}
      {page && page.count > 0 && <Ways next={found.next} />}
    </search>
  );
}

const ONLY_HELD = "Searches the events that this report holds, not those of the other steps of the recording.";

/** "12 of 9 178, 3.4 ms in all". */
function foundText({ at }: Found, { count: all, total_ns }: SearchPage, inReport: boolean): string {
  const of = inReport ? "this report" : "this recording";
  if (all === 0) return `none in ${of}`;
  const which = at === null ? `${count(all)} found` : `${count(at + 1)} of ${count(all)}`;
  return `${which}, ${ns(total_ns)} in ${inReport ? of : "all"}`;
}

/** The number of hits per track; the search can be limited to one of them. */
function Where(props: Pick<SearchProps, "tracks" | "track" | "within"> & { page: SearchPage }) {
  const { page, tracks, track, within } = props;
  const all = sum(page.tracks, (each) => each.count);
  return (
    <select
      class="field"
      aria-label="Tracks that are searched"
      value={track ?? ""}
      onChange={({ currentTarget: { value } }) => within(value === "" ? null : Number(value))}
    >
      <option value="">{`On ${page.tracks.length} tracks: ${count(all)}`}</option>
      {page.tracks.map((each) => (
        <option key={each.track} value={each.track}>
          {`${labelOf(tracks, each.track)}: ${count(each.count)}, ${ns(each.total_ns)}`}
        </option>
      ))}
    </select>
  );
}

function labelOf(tracks: readonly Track[], id: number): string {
  const track = tracks.find((each) => each.id === id);
  if (!track) return `Track ${id}`;
  return track.kind === "stream" || track.kind === "ranges" ? `${track.group}, ${track.label}` : track.label;
}

function Ways({ next }: Pick<Found, "next">) {
  return (
    <>
      <button
        class="button low"
        aria-label="Previous event found"
        data-hint="Previous, Shift and Enter or F3"
        onClick={() => next(true)}
      >
        ‹
      </button>
      <button
        class="button low"
        aria-label="Next event found"
        data-hint="Next, Enter or F3"
        onClick={() => next(false)}
      >
        ›
      </button>
    </>
  );
}

/** Whether Python stacks are shown with every frame, or folded to the user's own lines. */
export function Frames({ all, choose }: { all: boolean; choose(all: boolean): void }) {
  return (
    <button
      class="button low"
      data-hint={`${all ? "Without" : "Also"} frames of PyTorch, of Python and of installed packages`}
      onClick={() => choose(!all)}
    >
      {all ? "Only your Python frames" : "All Python frames"}
    </button>
  );
}
