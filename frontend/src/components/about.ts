/** The recording that a picture shows; it is named in what is saved, copied and printed of the picture. */

import { createContext } from "preact";
import type { SpanHead } from "../api.gen";
import { fileName } from "../dom/save";
import { recordedOn } from "../format";

export interface About {
  /** "overview" */
  view: string;
  /** The beginning of the names of saved files: "run worker span 1". */
  recording: string;
  /** The same for a reader, with the date of the recording. */
  words: readonly string[];
  version: string;
  link(): string;
}

/** The parts of the tab that are needed here. */
interface Teller {
  meanings: { version: string };
  address(): string;
}

const UNKNOWN: About = { view: "", recording: "", words: [], version: "", link: () => "" };

export const AboutContext = createContext<About>(UNKNOWN);

/** The beginning of the names of files with what is shown of a span. */
export const recordingOf = ({ run, worker, number }: SpanHead): string => `${run} ${worker} span ${number}`;

export function aboutSpan(view: string, head: SpanHead, { meanings: { version }, address }: Teller): About {
  const { run, worker, number, simulated } = head;
  return {
    view,
    version,
    link: address,
    recording: recordingOf(head),
    words: [
      run,
      worker,
      `span ${number}`,
      simulated === null
        ? ["recorded", recordedOn(head.origin_ns)].filter(Boolean).join(" ")
        : "simulated, not recorded",
    ],
  };
}

export function aboutRuns(view: string, runs: readonly string[], { meanings: { version }, address }: Teller): About {
  const recording = runs.length === 1 ? runs[0]! : `${runs.length} runs`;
  return { view, version, link: address, recording, words: [runs.length <= 4 ? runs.join(", ") : recording] };
}

/** "v100_workers4 · worker0 · span 1 · recorded 9 June 2021 · tb-steptime 0.2.0" */
export const footOf = ({ words, version }: About): string =>
  [...words, `tb-steptime ${version}`.trim()].filter(Boolean).join(" · ");

/** Run, view and picture as a file name that is valid on any system. */
export function fileStem({ recording, view }: About, name: string): string {
  const picture = recording === "" ? name : name.replace(recording, "");
  return fileName([recording, view.replaceAll("_", " "), picture].join(" "));
}
