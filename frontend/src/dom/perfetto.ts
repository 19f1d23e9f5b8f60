/**
 * Passes a trace to Perfetto in a new window, by messages between the two pages within the browser:
 *
 *     this page   PING PING PING ────────────── the trace
 *     Perfetto    (loads)       ── PONG
 *
 * Nothing is uploaded: the bytes stay in this browser, and Perfetto reads them there.
 */

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

/** Runs synchronously within the user's click: only then does a browser open a window. */
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
