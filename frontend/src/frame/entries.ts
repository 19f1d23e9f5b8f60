/** What the pickers list: runs, workers and spans by their shortest names, with what helps to choose among them. */

import { compareKey, inRun, inWorker, namesIn, type Selection, workerLabels } from "../address/selection";
import { shortNames } from "../address/short_names";
import type { Index, RunEntry, SpanEntry, WorkerEntry } from "../api.gen";
import { bytes, date, ns, rangeText } from "../format";
import type { PickerEntry } from "./picker";

/** Runs by what was recorded; each group opens its part of the list, where there are several. */
const KINDS = { gpu: "With a GPU", cpu: "CPU only", simulated: "Simulated", unread: "Not read yet" } as const;

type Kind = keyof typeof KINDS;

export function runEntries(runs: readonly RunEntry[], like: Selection, now_ms = Date.now()): PickerEntry[] {
  const names = shortNames(runs.map(({ name }) => name));
  const entries = runs.map((run): [Kind, PickerEntry] => {
    const span = inRun(run, like)?.span;
    const kind = kindOf(run);
    return [kind, { ...spanAside(span, now_ms), id: run.name, label: names.get(run.name)!, full: run.name }];
  });
  return grouped(entries);
}

/** Of spans to compare with: all but the chosen one, each with its run. */
export function compareEntries(others: readonly Selection[], index: Index, now_ms = Date.now()): PickerEntry[] {
  const names = shortNames(index.runs.map(({ name }) => name));
  const kinds = new Map(index.runs.map((run) => [run.name, kindOf(run)]));
  const workers = new Map(index.runs.map((run) => [run.name, workerLabels(run.workers)]));
  return grouped(
    others.map((other): [Kind, PickerEntry] => {
      const { run, span } = other;
      const place = namesIn(other, workers.get(run.name));
      const [label, full] = [names.get(run.name)!, run.name].map((name) => [name, ...place].join(", "));
      return [kinds.get(run.name)!, { ...spanAside(span, now_ms), id: compareKey(other), label: label!, full: full! }];
    }),
  );
}

/** Stable within each group. One group needs no name. */
function grouped(entries: readonly (readonly [Kind, PickerEntry])[]): PickerEntry[] {
  const kinds = (Object.keys(KINDS) as Kind[]).filter((kind) => entries.some(([of]) => of === kind));
  return kinds.flatMap((kind) =>
    entries
      .filter(([of]) => of === kind)
      .map(([, entry]) => (kinds.length > 1 ? { ...entry, group: KINDS[kind] } : entry)),
  );
}

function kindOf({ simulated, workers }: RunEntry): Kind {
  const known = workers.flatMap(({ spans }) => spans.map(({ has_gpu }) => has_gpu)).filter((has) => has !== null);
  if (simulated) return "simulated";
  return known.length === 0 ? "unread" : known.includes(true) ? "gpu" : "cpu";
}

export function workerEntries({ workers }: RunEntry, like: Selection): PickerEntry[] {
  const labels = workerLabels(workers);
  return workers.map((worker) => workerEntry(worker, labels.get(worker.name)!, like));
}

const workerEntry = (worker: WorkerEntry, label: string, like: Selection): PickerEntry => ({
  ...spanAside(inWorker(like.run, worker, like)?.span),
  id: worker.name,
  label,
  full: worker.name,
});

export function spanEntries(spans: readonly SpanEntry[]): PickerEntry[] {
  return spans.map((span) => ({ id: String(span.number), label: `${span.number}${steps(span)}`, ...spanAside(span) }));
}

export const steps = ({ first_step: first, last_step: last }: SpanEntry): string =>
  first === null || last === null ? "" : first === last ? `, step ${first}` : `, steps ${rangeText(first, last)}`;

/** The mean step of the span that an entry opens and its age; of one that is not read, its size. */
function spanAside(span: SpanEntry | undefined, now_ms?: number): Pick<PickerEntry, "aside" | "faint"> {
  if (!span) return { aside: "" };
  const old = now_ms === undefined ? [] : [age(span.recorded_ns, now_ms)];
  const aside = (figure: string) => [...old, figure].join(", ");
  if (span.state === "failed") return { aside: aside("failed"), faint: true };
  return span.mean_step_ns === null
    ? { aside: aside(bytes(span.file_bytes)), faint: span.state !== "ready" }
    : { aside: aside(ns(span.mean_step_ns)) };
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** From here on a date says more than a number of days. */
const DATED_DAYS = 14;

/** "12 min ago", "3 d ago", "8 June 2021". */
export function age(recorded_ns: number, now_ms: number): string {
  const passed = now_ms - recorded_ns / 1e6;
  if (passed >= DATED_DAYS * DAY_MS || passed < -DAY_MS) return date(recorded_ns);
  const [size, unit] =
    passed >= DAY_MS
      ? ([DAY_MS, "d"] as const)
      : passed >= HOUR_MS
        ? ([HOUR_MS, "h"] as const)
        : ([MINUTE_MS, "min"] as const);
  return passed < MINUTE_MS ? "just now" : `${Math.floor(passed / size)}\u00a0${unit} ago`;
}
