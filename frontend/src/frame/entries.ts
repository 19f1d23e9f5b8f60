/** The entries of the pickers: runs, workers and spans by their shortest names, with details that help to choose. */

import { compareKey, inRun, inWorker, namesIn, type Selection, selections, workerLabels } from "../address/selection";
import { shortNames } from "../address/short_names";
import type { Index, RunEntry, SpanEntry, WorkerEntry } from "../api.gen";
import { bytes, date, ns, rangeText } from "../format";
import { sameWork, type Works } from "../views/works";
import type { PickerEntry } from "./picker";

/**
 * Runs of the same work come first, then groups by what was recorded; each group starts a section, where there are
 * several.
 */
const GROUPS = {
  same: "The same work",
  own: "In this run",
  gpu: "With a GPU",
  cpu: "CPU only",
  simulated: "Simulated",
  unread: "Not read yet",
} as const;

type Group = keyof typeof GROUPS;

export function runEntries(
  runs: readonly RunEntry[],
  like: Selection,
  works: Works | null,
  now_ms = Date.now(),
): PickerEntry[] {
  const names = shortNames(runs.map(({ name }) => name));
  const groups = groupsOf(runs, like, works);
  const entries = runs.map((run): [Group, PickerEntry] => {
    const span = inRun(run, like)?.span;
    return [groups(run), { ...spanAside(span, now_ms), id: run.name, label: names.get(run.name)!, full: run.name }];
  });
  return grouped(entries);
}

/**
 * The spans to compare with: all but the chosen one. Another run is listed once, with the rank and span that correspond
 * to the chosen ones; the run itself with the spans of this worker, and the same span of its other workers. A search
 * finds all.
 */
export function compareEntries(
  chosen: Selection,
  index: Index,
  works: Works | null,
  now_ms = Date.now(),
): PickerEntry[] {
  const names = shortNames(index.runs.map(({ name }) => name));
  const workers = new Map(index.runs.map((run) => [run.name, workerLabels(run.workers)]));
  const groups = groupsOf(index.runs, chosen, works);
  const answering = new Map(index.runs.map((run) => [run.name, inRun(run, chosen)?.span.id]));
  const others = selections(index).filter(({ span }) => span.id !== chosen.span.id);
  return grouped(
    others.map((other): [Group, PickerEntry] => {
      const { run, worker, span } = other;
      const own = run.name === chosen.run.name;
      const place = namesIn(other, workers.get(run.name));
      const [label, full] = [names.get(run.name)!, run.name].map((name) => [name, ...place].join(", "));
      const first = own
        ? worker.name === chosen.worker.name || span.number === chosen.span.number
        : span.id === answering.get(run.name);
      const entry = { ...spanAside(span, now_ms), id: compareKey(other), label: label!, full: full!, folded: !first };
      return [own ? "own" : groups(run), entry];
    }),
  );
}

/** The group of each run. Where no other run does the same work, runs are not grouped by work. */
function groupsOf(runs: readonly RunEntry[], { run: chosen }: Selection, works: Works | null): (of: RunEntry) => Group {
  const isSameWork = ({ name }: RunEntry) => sameWork(works, name, chosen.name) === true;
  const several = runs.some((run) => run.name !== chosen.name && isSameWork(run));
  return (run) => (several && isSameWork(run) ? "same" : kindOf(run));
}

/** Groups the entries and keeps their order within each group. A single group needs no name. */
function grouped(entries: readonly (readonly [Group, PickerEntry])[]): PickerEntry[] {
  const groups = (Object.keys(GROUPS) as Group[]).filter((group) => entries.some(([of]) => of === group));
  return groups.flatMap((group) =>
    entries
      .filter(([of]) => of === group)
      .map(([, entry]) => (groups.length > 1 ? { ...entry, group: GROUPS[group] } : entry)),
  );
}

function kindOf({ simulated, workers }: RunEntry): Group {
  const measured = workers.flatMap(({ spans }) => spans.map(({ has_gpu }) => has_gpu)).filter((has) => has !== null);
  if (simulated) return "simulated";
  return measured.length === 0 ? "unread" : measured.includes(true) ? "gpu" : "cpu";
}

export function workerEntries({ workers }: RunEntry, like: Selection): PickerEntry[] {
  const labels = workerLabels(workers);
  return workers.map((worker) => workerEntry(worker, labels.get(worker.name)!, like));
}

/** Whether the name of the only worker repeats what the name of its run says: "cuda", in the run "resnet_cuda". */
export function namedByRun({ run, worker }: Selection): boolean {
  if (run.workers.length > 1) return false;
  const named = namePartsOf(run.name);
  return namePartsOf(workerLabels(run.workers).get(worker.name)!).every((word) => named.includes(word));
}

const namePartsOf = (name: string): string[] => name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

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

/** The mean step of the span that an entry opens, and its age; for a span that is not yet read, its size. */
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

/** From this many days on a date is more useful than a number of days. */
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
