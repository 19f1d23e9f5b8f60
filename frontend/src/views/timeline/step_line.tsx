/**
 * The line under the picture while a step is extracted as a trace of its own: its progress, then what can be done with
 * it.
 */

import { useEffect, useState } from "preact/hooks";
import type { MenuEntry } from "../../components/popup";
import { textOf } from "../../components/waiting";
import { saveBlob } from "../../dom/save";
import { bytes, bytesOf } from "../../format";
import type { Answer, SavedFile, ViewSource } from "../../server/client";
import { untilReady } from "../../server/requested";

export interface WantedStep {
  step: string;
  /** True: saved at once; else it waits for a click, because a browser opens windows on clicks only. */
  saved: boolean;
  /** When it was requested, so that requesting the same step again saves it again. */
  pressed_ms: number;
}

export const stepEntries = (step: string, want: (wanted: WantedStep) => void): MenuEntry[] => [
  { label: `Download step ${step} as a trace`, choose: () => want({ step, saved: true, pressed_ms: Date.now() }) },
  { label: `Open step ${step} in Perfetto`, choose: () => want({ step, saved: false, pressed_ms: Date.now() }) },
];

interface StepLineProps {
  events: ViewSource;
  span: string;
  wanted: WantedStep;
  /** The beginning of the window's title: the recording. */
  recording: string;
  close(): void;
}

export function StepLine({ events, span, wanted: { step, saved }, recording, close }: StepLineProps) {
  const answer = useStepFile(events, span, step);
  const file = answer?.kind === "ready" ? answer.value : null;
  useEffect(() => {
    if (saved && file) saveBlob(file.name, file.blob);
  }, [saved, file]);
  return (
    <div class="range-line">
      {file ? (
        <Ready file={file} step={step} saved={saved} recording={recording} />
      ) : (
        <p role="status">{notYet(answer, step)}</p>
      )}
      <button class="button low" onClick={close}>
        {file ? "Close" : "Cancel"}
      </button>
    </div>
  );
}

function notYet(answer: Answer<SavedFile> | null, step: string): string {
  if (answer?.kind === "problem" || answer?.kind === "gone") return textOf(answer.value);
  const progress = answer?.kind === "waiting" ? answer.value.progress : null;
  const progressText =
    progress && progress.total_bytes > 0 ? `: ${bytesOf(progress.read_bytes, progress.total_bytes)}` : "";
  return `Cutting step ${step} out of the trace${progressText}`;
}

interface ReadyProps extends Pick<StepLineProps, "recording"> {
  file: SavedFile;
  step: string;
  saved: boolean;
}

/** Steps are extracted from JSON files only: any other file is given as it is. */
const isWhole = (name: string) => /\.pftrace(\.gz)?$/.test(name);

function Ready({ file, step, saved, recording }: ReadyProps) {
  const [handed, setHanded] = useState<Handed | "waiting" | null>(null);
  const [content, setContent] = useState<ArrayBuffer | null>(null);
  useEffect(() => {
    void file.blob.arrayBuffer().then(setContent);
  }, [file]);
  const whole = isWhole(file.name);
  const title = whole ? recording : `${recording}, step ${step}`;
  const ready = whole ? "The whole .pftrace file is ready" : `Step ${step} is ready`;
  const open = () => {
    if (content === null) return;
    setHanded("waiting");
    void handToPerfetto({ title, name: file.name, bytes: content }).then(setHanded);
  };
  return (
    <>
      <p role="status">
        {handed === null
          ? `${saved ? `Saved as ${file.name}` : ready}, ${bytes(file.blob.size)}. ${WHERE_IT_GOES}`
          : SAID[handed]}
      </p>
      <button class="button low" disabled={content === null || handed === "waiting"} onClick={open}>
        Open in Perfetto
      </button>
      {!saved && (
        <button class="button low" onClick={() => saveBlob(file.name, file.blob)}>
          Download
        </button>
      )}
    </>
  );
}

const WHERE_IT_GOES = "Perfetto gets it in a window of this browser, at ui.perfetto.dev. Nothing is uploaded.";

const BY_HAND = "Download the step, and open the file there or in chrome://tracing.";

const SAID: Readonly<Record<Handed | "waiting", string>> = {
  waiting: "Waiting for Perfetto in the new window.",
  given: "Perfetto has it, in the new window. Nothing was uploaded.",
  blocked: `The browser blocked the new window. Allow pop-ups for this page and press again. Or: ${BY_HAND}`,
  offline: `This browser is offline, and Perfetto is a page on the internet. ${BY_HAND}`,
  closed: "The window was closed before Perfetto was ready.",
  silent: `Perfetto did not answer: is ui.perfetto.dev reachable from here? ${BY_HAND}`,
};

/** Pause between requests while the step is being extracted. */
const WAITING_MS = 500;

/** Null: no step is requested, or there is no answer yet. */
function useStepFile(events: ViewSource, span: string, step: string | null): Answer<SavedFile> | null {
  const [answer, setAnswer] = useState<Answer<SavedFile> | null>(null);
  useEffect(() => {
    setAnswer(null);
    if (step === null) return;
    return untilReady((signal) => events.stepFile(span, step, signal), setAnswer, { waiting_ms: WAITING_MS });
  }, [events, span, step]);
  return answer;
}

export const PERFETTO = "https://ui.perfetto.dev";

/**
 * The outcome. Blocked: the browser did not open a window; offline: it has no network; closed: the user closed the
 * window; silent: no answer, because the page could not be loaded or does not answer windows that others open.
 */
export type Handed = "given" | "blocked" | "offline" | "closed" | "silent";

interface HandedTrace {
  title: string;
  name: string;
  bytes: ArrayBuffer;
}

const PING_MS = 200;
/** Perfetto is a large page and takes long to load. */
const PATIENCE_MS = 30_000;

/**
 * Passes a trace to Perfetto in a new window, by messages between the two pages within the browser:
 *
 *     this page   PING PING PING ────────────── the trace
 *     Perfetto    (loads)       ── PONG
 *
 * Nothing is uploaded: the bytes stay in this browser, and Perfetto reads them there. It runs synchronously within the
 * user's click: only then does a browser open a window.
 */
export function handToPerfetto({ title, name, bytes }: HandedTrace, around: Window = window): Promise<Handed> {
  if (!around.navigator.onLine) return Promise.resolve("offline");
  const opened = around.open(PERFETTO);
  if (opened === null) return Promise.resolve("blocked");
  return new Promise((resolve) => {
    const ended = (how: Handed) => {
      clearInterval(pings);
      clearTimeout(patience);
      around.removeEventListener("message", answered);
      resolve(how);
    };
    const answered = ({ source, origin, data }: MessageEvent) => {
      if (source !== opened || origin !== PERFETTO || data !== "PONG") return;
      opened.postMessage({ perfetto: { buffer: bytes, title, fileName: name } }, PERFETTO);
      ended("given");
    };
    around.addEventListener("message", answered);
    const pings = setInterval(() => (opened.closed ? ended("closed") : opened.postMessage("PING", PERFETTO)), PING_MS);
    const patience = setTimeout(() => ended("silent"), PATIENCE_MS);
  });
}
