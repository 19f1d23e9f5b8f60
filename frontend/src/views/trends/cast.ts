import type { Metric } from "../../api.gen";
import { RUN_COLOURS } from "../../colour";
import { figuresOf } from "./run_figures";
import type { Run } from "./runs";

/** Of many runs those that were searched for, at most. */
const MOST_FOUND = 6;

/** Of many those that stand out most, drawn and named. */
const MOST_OUTSTANDING = 3;

export interface Cast {
  /** Each with its own colour; the one in focus last. */
  lines: readonly Run[];
  /** All others, spoken of by their median and the band that holds most of them. */
  group: readonly Run[];
  /** What stands beside the one in focus: other runs, or the workers of that one run. */
  of: "runs" | "workers";
}

/** Which run is in focus, which worker was chosen, and what it is compared with; typed: what was searched for. */
export interface Casting {
  focus: string | null;
  compared: string | null;
  worker?: string | undefined;
  /** In lower case. */
  typed: string;
  /** By which the worst stand out. */
  metric: Metric;
  /** Ids of metrics of which the least is the worst. */
  moreIsBetter: readonly string[];
}

/** workers: those of the run, where it is the only one and has many; else none. */
export function castOf(runs: readonly Run[], workers: readonly Run[], asked: Casting): Cast {
  const last = runs.find((run) => run.name === asked.focus) ?? runs.at(-1);
  if (!last || (workers.length === 0 && runs.length <= RUN_COLOURS))
    return { lines: focusLast(coloured(runs), last?.name ?? null), group: [], of: "runs" };
  const others = workers.length > 0 ? workers : runs.filter((run) => run !== last);
  const alone = standingOut(others, asked);
  const drawn = others.filter((run) => alone.has(run));
  const lines =
    workers.length > 0 ? [...coloured(drawn), last] : coloured(runs.filter((run) => run === last || alone.has(run)));
  const group = others.filter((run) => !alone.has(run));
  return { lines: focusLast(lines, last.name), group, of: workers.length > 0 ? "workers" : "runs" };
}

/** Of many those that are searched for, else the worst; and always what was chosen or is compared with. */
function standingOut(
  others: readonly Run[],
  { compared, worker, typed, metric, moreIsBetter }: Casting,
): ReadonlySet<Run> {
  const found =
    typed === ""
      ? worst(others, metric, moreIsBetter).map(({ run }) => run)
      : others.filter((run) => matches(run, typed)).slice(0, MOST_FOUND);
  const chosen = others.filter((run) => run.name === compared || (worker !== undefined && run.worker === worker));
  return new Set([...found, ...chosen]);
}

/** Those at the end of the order that is the bad one. */
export function worst(
  runs: readonly Run[],
  metric: Metric,
  moreIsBetter: readonly string[],
): { run: Run; value: number }[] {
  const order = ranked(runs, metric.id);
  return (moreIsBetter.includes(metric.id) ? order.reverse() : order).slice(0, MOST_OUTSTANDING);
}

const matches = ({ name, label }: Run, typed: string): boolean =>
  typed.split(/\s+/).every((word) => `${name} ${label}`.toLowerCase().includes(word));

const coloured = (runs: readonly Run[]): readonly Run[] => runs.map(inColour);

/** The same one for the same colour: what was made of it need not be made again. */
function inColour(run: Run, hue: number): Run {
  const known = COLOURED.get(run) ?? new Map<number, Run>();
  COLOURED.set(run, known);
  const found = known.get(hue) ?? { ...run, hue };
  known.set(hue, found);
  return found;
}

const COLOURED = new WeakMap<Run, Map<number, Run>>();

/** The pictures take the last run for the one in focus, and draw it over the others. */
const focusLast = (runs: readonly Run[], focus: string | null): readonly Run[] => [
  ...runs.filter((run) => run.name !== focus),
  ...runs.filter((run) => run.name === focus),
];

/** Runs by their mean of a metric, highest first; those without it are left out. */
export function ranked(runs: readonly Run[], metric: string): { run: Run; value: number }[] {
  const means = runs.map((run) => ({ run, value: figuresOf(run.steps, metric).mean }));
  return means.filter(({ value }) => !Number.isNaN(value)).sort((a, b) => b.value - a.value);
}
