/** Everything that the address may hold: its keys, and how a value of each is written. */

import type { TimeRange } from "../time_range";

interface Codec<T> {
  /** Undefined where nobody wrote this by intention: a hand-edited address may hold anything. */
  read(written: string): T | undefined;
  write(value: T): string;
}

const text: Codec<string> = { read: (written) => written, write: (value) => value };

const wholeNumber: Codec<number> = {
  read: (written) => (/^\d{1,15}$/.test(written) ? Number(written) : undefined),
  write: String,
};

/** Whole ns from the span's origin; events before the first step have negative times. */
const timeRange: Codec<TimeRange> = {
  read(written) {
    const [, from, to] = /^(-?\d{1,15})-(-?\d{1,15})$/.exec(written) ?? [];
    return Number(from) < Number(to) ? { from: Number(from), to: Number(to) } : undefined;
  },
  write: ({ from, to }) => `${Math.round(from)}-${Math.round(to)}`,
};

const ids: Codec<ReadonlySet<string>> = {
  read: (written) => new Set(written.split(",").filter((id) => id !== "")),
  write: (value) => [...value].join(","),
};

/** One of a few words. What stands in the address by default is none of them. */
function oneOf<Word extends string>(...words: readonly Word[]): Codec<Word> {
  return { read: (written) => words.find((word) => word === written), write: (value) => value };
}

/** The one character that no name of a folder holds in practice. */
const BETWEEN_NAMES = "\n";

const names: Codec<readonly string[]> = {
  read: (written) => written.split(BETWEEN_NAMES),
  write: (value) => value.join(BETWEEN_NAMES),
};

/** "total" sorts up by the column of that id, "-total" down. */
const sort: Codec<string> = text;

/** Order of rows, by table. */
const SORTS = {
  activity: sort,
  all_runs: sort,
  allocating: sort,
  allocations: sort,
  blocking: sort,
  changes: sort,
  copies: sort,
  churn: sort,
  code_lines: sort,
  could_sort: sort,
  collectives: sort,
  job_collectives: sort,
  cpu_ops: sort,
  drives: sort,
  experiments: sort,
  gpus: sort,
  grown: sort,
  holders: sort,
  lines: sort,
  modules: sort,
  operators: sort,
  loaders: sort,
  makers: sort,
  parts: sort,
  pauses: sort,
  phases: sort,
  promises: sort,
  ranges: sort,
  rank_sizes: sort,
  rank_waits: sort,
  roofline: sort,
  rates: sort,
  sites: sort,
  slow: sort,
  snapshot_growth: sort,
  snapshot_lines: sort,
  slowest: sort,
  sort,
  worker_lines: sort,
  workers: sort,
};

const KEYS = {
  view: text,
  /** Every run in a line, in place of a view. */
  all: oneOf("runs"),
  /** Of these lines: words that they hold, what limits them, and on which machine they ran. */
  having: text,
  limit: text,
  machine: text,
  grouped: oneOf("no"),
  // which span, and the one that it is compared with
  run: text,
  worker: text,
  span: wholeNumber,
  with: text,
  /** What it is compared with although the two are not alike: as `with` says it. */
  anyway: text,
  // what is chosen within the span
  step: text,
  /** Cards that are ticked on the Overview; without the key those that the server ticks. */
  try: ids,
  /** "recording": the whole of it as one step. */
  steps: text,
  zoom: timeRange,
  /** That is measured in the timeline. */
  range: timeRange,
  event: wholeNumber,
  /** "table:key" of the row that a card leads to. */
  mark: text,
  /** Tracks of the timeline that the user turned: folded or opened, pinned or not. */
  folds: ids,
  pins: ids,
  /** "all": every Python frame of the timeline, not only those of the user's code. */
  frames: text,
  device: wholeNumber,
  /** Of the devices whose memory was recorded, by place. */
  memory: wholeNumber,
  /** A memory snapshot, by its id, and another one that it is compared with. */
  snapshot: text,
  since: text,
  /** At which what is alive is shown, ns from where the curve begins. */
  instant: wholeNumber,
  /** The kernel whose launches are shown. */
  opened: text,
  // what a picture shows, and what it hides
  metric: text,
  over: text,
  /** "all": no value is left out of the axes of Trends. */
  axis: oneOf("all"),
  strip: text,
  /** The job's own scalar, by its tag. */
  scalar: text,
  runs: names,
  /** Of Trends: every run, in place of those that compute the same. */
  among: oneOf("all"),
  by: text,
  /** What the change of a step is split by. */
  way: text,
  /** Which table of a comparison, and which of its rows. */
  table: text,
  moved: text,
  /** Of the ranks of a job. */
  order_ranks: oneOf("rank", "host", "waits", "value"),
  /** Runs of the chain of experiments, in the reader's order. */
  order: names,
  idle: text,
  off: ids,
  bins: ids,
  /** Of the flame graph: what is above the ops, what the widths are, from which end, what is looked for, the frame that
   * is zoomed into (`views/operators/flame/address.ts`), and the kinds of frames that are hidden. */
  paths: oneOf("stack", "module", "op"),
  cost: oneOf("device", "host", "idle", "bytes"),
  turned: oneOf("up"),
  seek: text,
  frame: text,
  kinds: ids,
  /** The line of code that is shown, "train.py(54): step", and the editor that links lead to. */
  line: text,
  editor: oneOf("vscode"),
  /** "off": no change of each line beside the span that is compared. */
  line_change: oneOf("off"),
  /** The op whose calls are shown. */
  op: text,
  /** Work of the backward pass counts for the op of the forward pass that made it. */
  work: oneOf("made"),
  /** "single": each module of repeated layers. */
  layers: oneOf("single"),
  // how figures are given, in every view: totals of all steps, and the unit of times
  totals: oneOf("recording"),
  unit: oneOf("us", "ms", "s"),
  /** Columns that the reader added or took away: "+gpus.name", "-sites.launches". */
  columns: ids,
  // what is typed into the filters
  kernel: text,
  ops: text,
  could: text,
  calls: text,
  find: text,
  tracks: text,
  ...SORTS,
};

type Decoded<C> = C extends Codec<infer T> ? T : never;

/** What the address holds. A key that it lacks, or whose value cannot be read, is missing. */
export type Address = { readonly [K in keyof typeof KEYS]?: Decoded<(typeof KEYS)[K]> };

/** Keys to write; null takes a key out. */
export type Changes = { readonly [K in keyof Address]?: Address[K] | null };

export type SortKey = keyof typeof SORTS;

const isKey = (key: string): key is keyof Address => Object.hasOwn(KEYS, key);

/** Pairs of key and value, as they are written, as values. Keys of another release are left out. */
export function decode(written: readonly (readonly [key: string, value: string])[]): Address {
  const values = written.flatMap(([key, value]) => (isKey(key) ? [[key, KEYS[key].read(value)] as const] : []));
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Each change as it is written; null: the key goes. */
export function encode(changes: Changes): [key: string, value: string | null][] {
  return Object.entries(changes).flatMap(([key, value]): [string, string | null][] => {
    if (value === undefined || !isKey(key)) return [];
    return [[key, value === null ? null : (KEYS[key] as Codec<unknown>).write(value)]];
  });
}

/** A range as the address writes it; equal ranges are written alike. */
export const rangeKey = (range: TimeRange): string => timeRange.write(range);
