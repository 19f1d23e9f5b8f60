/** The span that the address names: `run`, `worker` and `span` (its number), each optional. */

import type { Index, RunEntry, SpanEntry, WorkerEntry } from "../api.gen";
import { rangeOf } from "../time_range";
import type { Address, Changes } from "./keys";
import { shortNames } from "./short_names";

export interface Selection {
  run: RunEntry;
  worker: WorkerEntry;
  span: SpanEntry;
}

/** Keys of the address that are meaningful only within one span. */
const WITHIN_SPAN = {
  step: null,
  try: null,
  steps: null,
  zoom: null,
  range: null,
  event: null,
  mark: null,
  folds: null,
  pins: null,
  snapshot: null,
} as const;

/** The value in the address that means "the recording as one step", and the suffix of the span's id in that case. */
export const WHOLE_RECORDING = "recording";

/** The span as the server names it when the whole recording is requested as one step. */
export const asOneStep = (chosen: Selection): Selection => ({
  ...chosen,
  span: { ...chosen.span, id: `${chosen.span.id}~${WHOLE_RECORDING}` },
});

/** The span that the address names, or the nearest one that can be shown; null where there are no spans. */
export function selected(index: Index, state: Address): Selection | null {
  const all = selections(index);
  const ofRun = all.filter(({ run }) => run.name === state.run);
  const among = ofRun.length > 0 ? ofRun : state.worker === undefined ? ofNewestRun(all) : all;
  const byWorker = among.filter(({ worker }) => worker.name === state.worker);
  const ofWorker = byWorker.length > 0 ? byWorker : among;
  const exact = ofWorker.find(({ span }) => span.number === state.span);
  return (
    exact ??
    ofWorker.find(({ span }) => span.state === "ready") ??
    ofWorker.find(({ span }) => span.state !== "failed") ??
    ofWorker[0] ??
    null
  );
}

/** The spans of the newest run that has something to show; recordings with a GPU are preferred. */
function ofNewestRun(all: readonly Selection[]): readonly Selection[] {
  const whole = all.filter(({ span }) => span.state !== "failed");
  const onGpu = whole.filter(({ span }) => span.has_gpu !== false);
  const among = onGpu.length > 0 ? onGpu : whole;
  if (among.length === 0) return all;
  const newest = among.reduce((last, each) => (each.span.recorded_ns > last.span.recorded_ns ? each : last));
  return all.filter(({ run }) => run === newest.run);
}

export function selections(index: Index): Selection[] {
  return index.runs.flatMap((run) =>
    run.workers.flatMap((worker) => worker.spans.map((span) => ({ run, worker, span }))),
  );
}

/** The span to open a run with: the same worker and number where the run has them. */
export function inRun(run: RunEntry, like: Selection): Selection | null {
  const worker = run.workers.find((other) => other.name === like.worker.name) ?? run.workers[0];
  return worker ? inWorker(run, worker, like) : null;
}

export function inWorker(run: RunEntry, worker: WorkerEntry, like: Selection): Selection | null {
  const span = worker.spans.find((other) => other.number === like.span.number) ?? worker.spans[0];
  return span ? { run, worker, span } : null;
}

export function keysOf({ run, worker, span }: Selection): Changes {
  return { run: run.name, worker: worker.name, span: span.number, ...WITHIN_SPAN };
}

/**
 * An answer about a span changes with its state and with every span of its worker that is read: sparklines have all of
 * them, and a comparison counts them together.
 */
export const spanVersion = ({ worker, span }: Selection): string =>
  `${span.state} ${worker.spans.filter((each) => each.state === "ready").length}`;

/** How the address names the span that another is compared with. */
export const compareKey = ({ run, worker, span }: Selection): string => [run.name, worker.name, span.number].join("/");

/**
 * Written in place of a span to compare with: no comparison, not even in Compare, which otherwise chooses a pair
 * itself.
 */
const NOTHING = "";

export const endOfComparison = ({ view }: Address): Changes => ({ with: view === "compare" ? NOTHING : null });

/** The span that the address compares with; null where it names none, or the chosen span itself. */
export function comparedWith(index: Index, state: Address, chosen: Selection): Selection | null {
  if (state.with === undefined) return null;
  const found = selections(index).find((other) => compareKey(other) === state.with) ?? null;
  return found?.span.id === chosen.span.id ? null : found;
}

/** What distinguishes two spans, in one word each: the run, else the worker, else the span. */
export function namesApart(chosen: Selection, other: Selection): { own: string; name: string } {
  if (chosen.run.name !== other.run.name) {
    const names = shortNames([chosen.run.name, other.run.name]);
    return { own: names.get(chosen.run.name)!, name: names.get(other.run.name)! };
  }
  if (chosen.worker.name !== other.worker.name) {
    const labels = workerLabels([chosen.worker, other.worker]);
    return { own: labels.get(chosen.worker.name)!, name: labels.get(other.worker.name)! };
  }
  return { own: `span ${chosen.span.number}`, name: `span ${other.span.number}` };
}

/** The worker and the span within their run, each where there are several: "rank 1", "span 3". */
export function namesIn({ run, worker, span }: Selection, labels = workerLabels(run.workers)): string[] {
  const workers = run.workers.length > 1 ? [labels.get(worker.name)!] : [];
  return [...workers, ...(worker.spans.length > 1 ? [`span ${span.number}`] : [])];
}

/** A label for each worker by its name: its rank where all ranks differ, else its shortest name. */
export function workerLabels(workers: readonly WorkerEntry[]): ReadonlyMap<string, string> {
  const ranks = new Set(workers.map(({ rank }) => rank).filter((rank) => rank !== null));
  return ranks.size === workers.length
    ? new Map(workers.map(({ name, rank }) => [name, `rank ${rank}`]))
    : shortNames(workers.map(({ name }) => name));
}

/** Shows the whole step. Null: the step that the Timeline opens with by default. */
export const stepInTimeline = (step: string | null): Changes => ({
  view: "timeline",
  step,
  zoom: null,
  range: null,
  event: null,
});

/** How much is shown on either side of a range, as a share of its length: what led to it and what followed. */
const MARGIN = 0.25;

/** A shorter range would show a single call and nothing around it. */
const MIN_NS = 20_000;

/** Shows the step in which a range of time begins (ns from the span's origin), and marks the range as measured. */
export function rangeInTimeline(range: { step: string; start_ns: number; end_ns: number }): Changes {
  const length = range.end_ns - range.start_ns;
  const margin = Math.max(MARGIN * length, (MIN_NS - length) / 2);
  const zoom = { from: Math.max(0, range.start_ns - margin), to: range.end_ns + margin };
  return { view: "timeline", step: range.step, zoom, range: rangeOf(range), event: null };
}
