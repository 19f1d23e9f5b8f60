/** Which tracks are pinned, folded and shown: the user's choices, kept in the address. */

import type { Address, Changes } from "../../address/keys";
import type { Track } from "../../api.gen";
import { toggled } from "../../components/legend";
import { holds, wordsOf } from "../../words";

export interface TrackChoices {
  /** Tracks that the user toggled from their default: folded or unfolded, pinned or within their group. */
  folds: ReadonlySet<number>;
  pins: ReadonlySet<number>;
  /** Words that a track's name or kind must contain for it to be shown; pinned ones always are. */
  filter: string;
}

export const NO_CHOICES: TrackChoices = { folds: new Set(), pins: new Set(), filter: "" };

const numbers = (ids: ReadonlySet<string> | undefined): ReadonlySet<number> => new Set([...(ids ?? [])].map(Number));

const written = (ids: ReadonlySet<number>): ReadonlySet<string> | null =>
  ids.size > 0 ? new Set([...ids].sort((a, b) => a - b).map(String)) : null;

export const choicesOf = ({ folds, pins, tracks }: Address): TrackChoices => ({
  folds: numbers(folds),
  pins: numbers(pins),
  filter: tracks ?? "",
});

/** The changes to the address after a track was toggled. */
export const turnedKeys = (choices: TrackChoices, which: "folds" | "pins", track: number): Changes => ({
  [which]: written(toggled(track, choices[which])),
});

export const isPinned = (track: Track, { pins }: TrackChoices): boolean => track.pinned !== pins.has(track.id);

export const onDevice = ({ kind }: Track): boolean => kind === "stream" || kind === "ranges";

/** Search words for a kind of track besides its label: what a user might call it. */
const KIND_WORDS: Readonly<Record<Track["kind"], string>> = {
  steps: "steps",
  phases: "phases host cpu",
  excess: "excess once interrupted periodic does not repeat",
  loader: "data loading loader host cpu",
  thread: "threads host cpu ops python",
  calls: "runtime calls host cpu cuda hip",
  stream: "streams gpu device kernels",
  ranges: "ranges gpu device annotations",
};

/** Each word of the filter must occur in the track's name, its group's, or among the words of its kind. */
export const found = ({ label, group, kind }: Track, filter: string): boolean =>
  holds(`${label} ${group} ${KIND_WORDS[kind]}`, wordsOf(filter));
