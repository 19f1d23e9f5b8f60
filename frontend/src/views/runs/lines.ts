/** The runs of a log directory as rows of a table: which are shown, in which groups, in which order. */

import type { Index, RunEntry, RunLine } from "../../api.gen";
import { ns } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { capital, holds, wordsOf } from "../../words";

/** A null line: the run has not been read, or could not be. */
export interface Run {
  name: string;
  entry: RunEntry;
  line: RunLine | null;
}

export interface Group {
  /** Null: no other run does the same work. */
  work: number | null;
  title: string;
  runs: readonly Run[];
}

interface Wanted {
  having: string;
  limit: string | undefined;
  machine: string | undefined;
}

/** Every run of the index once, with its line. */
export function runsOf({ runs }: Index, lines: readonly RunLine[]): Run[] {
  const byName = new Map(lines.map((line) => [line.run, line]));
  return runs.map((entry) => ({ name: entry.name, entry, line: byName.get(entry.name) ?? null }));
}

export const machineOf = ({ line }: Run): string => (line ? sentence(line.machine) : "");

/** "NVIDIA GeForce RTX 4090" as "RTX 4090": a column of GPUs has no room for their makers. */
export const shortMachine = (name: string): string => name.replace(/(NVIDIA|GeForce|Tesla|AMD|Instinct) /g, "");

/** "loader" */
export const limitOf = ({ bound }: RunLine, { paces }: Meanings): string => paces[bound] ?? bound;

/** The words may be anywhere in a row: name, kind of job, machine, what limits it, first fix. */
export function shownRuns(runs: readonly Run[], { having, limit, machine }: Wanted, meanings: Meanings): Run[] {
  const searched = wordsOf(having);
  return runs.filter((run) => {
    if (limit !== undefined && (run.line === null || limitOf(run.line, meanings) !== limit)) return false;
    if (machine !== undefined && machineOf(run) !== machine) return false;
    if (searched.length === 0) return true;
    const { line, name } = run;
    const texts = line ? [sentence(line.job), limitOf(line, meanings), line.fix ? sentence(line.fix) : ""] : [];
    return holds([name, machineOf(run), ...texts].join(" "), searched);
  });
}

const ORDERS: Readonly<Record<string, (run: Run) => number | string>> = {
  run: ({ name }) => name,
  step: ({ line }) => line?.step_ns ?? 0,
  gain: ({ line }) => line?.gain_ns ?? 0,
  share: ({ line }) => line?.gain_fraction ?? 0,
};

/** "step" ascending, "-share" descending. Equal ones stay in the order of the pickers; unread runs are last. */
export function sorted(runs: readonly Run[], by: string): Run[] {
  const down = by.startsWith("-");
  const of = ORDERS[down ? by.slice(1) : by] ?? ORDERS.share!;
  const order = (a: Run, b: Run): number => {
    const [one, other] = [of(a), of(b)];
    return one < other ? -1 : one > other ? 1 : 0;
  };
  const read = runs.filter(({ line }) => line !== null).sort((a, b) => (down ? order(b, a) : order(a, b)));
  return [...read, ...runs.filter(({ line }) => line === null)];
}

/** Groups in the order of their first runs; then runs whose work no other does, then unread ones. */
export function grouped(runs: readonly Run[]): Group[] {
  const together = new Map<number, Run[]>();
  for (const run of runs) {
    const work = run.line?.work ?? null;
    if (work !== null) together.set(work, [...(together.get(work) ?? []), run]);
  }
  const groups = [...together].filter(([, of]) => of.length > 1);
  const inGroup = new Set(groups.flatMap(([, of]) => of));
  const alone = runs.filter((run) => run.line !== null && !inGroup.has(run));
  const unread = runs.filter(({ line }) => line === null);
  return [
    ...groups.map(([work, of]): Group => ({ work, title: titleOf(of[0]!), runs: of })),
    ...(alone.length > 0 ? [{ work: null, title: "Alone in what they compute", runs: alone }] : []),
    ...(unread.length > 0 ? [{ work: null, title: "Not read yet", runs: unread }] : []),
  ];
}

/** "Training · eager · GeForce RTX 5080". */
const titleOf = ({ line }: Run): string => (line ? capital(sentence(line.job)) : "");

/** The fastest and the slowest of a group: the pair whose comparison shows most. */
export function extremes(runs: readonly Run[]): [fast: RunLine, slow: RunLine] {
  const lines = runs.flatMap(({ line }) => (line ? [line] : [])).sort((a, b) => a.step_ns - b.step_ns);
  return [lines[0]!, lines[lines.length - 1]!];
}

export const bestText = (runs: readonly Run[]): string => `best ${ns(extremes(runs)[0].step_ns)}`;

/** The number of lines per value, the most frequent first. */
export function tally(values: readonly string[]): [value: string, count: number][] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}
