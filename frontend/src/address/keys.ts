/** Everything that the address may contain: its keys, and how a value of each is written. */

import type { TimeRange } from "../time_range";

interface Codec<T> {
  /** Undefined where the text is not a valid value: a hand-edited address may contain anything. */
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

/** One of a few words. The default is not among them: it is not written into the address. */
function oneOf<Word extends string>(...words: readonly Word[]): Codec<Word> {
  return { read: (written) => words.find((word) => word === written), write: (value) => value };
}

/** A character that in practice no folder name contains. */
const BETWEEN_NAMES = "\n";

const names: Codec<readonly string[]> = {
  read: (written) => written.split(BETWEEN_NAMES),
  write: (value) => value.join(BETWEEN_NAMES),
};

/** "total" sorts by the column of that id in ascending order, "-total" in descending order. */
const sort: Codec<string> = text;

/** The sort order of the rows, by table. */
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
  /** "runs": a table of all runs, one per row, in place of a view. */
  all: oneOf("runs"),
  /** Filters of these rows: words that they contain, what limits the run, and the machine on which it ran. */
  having: text,
  limit: text,
  machine: text,
  grouped: oneOf("no"),
  // the span, and the one that it is compared with
  run: text,
  worker: text,
  span: wholeNumber,
  with: text,
  /** The span, named as in `with`, that is compared although the two are not alike. */
  anyway: text,
  // what is chosen within the span
  step: text,
  /** Cards that are ticked on the Overview; without this key the cards that the server ticks. */
  try: ids,
  /** "recording": the whole recording as one step. */
  steps: text,
  zoom: timeRange,
  /** The range that is measured in the timeline. */
  range: timeRange,
  event: wholeNumber,
  /** "open": the sections under "More" are shown. */
  more: oneOf("open"),
  /** "table:key" of the row that a card links to. */
  mark: text,
  /** Tracks of the timeline that the user toggled: folded or unfolded, pinned or unpinned. */
  folds: ids,
  pins: ids,
  /** "all": every Python frame of the timeline, not only those of the user's code. */
  frames: text,
  device: wholeNumber,
  /** Index of the selected one of the devices whose memory was recorded. */
  memory: wholeNumber,
  /** The id of a memory snapshot, and of the snapshot that it is compared with. */
  snapshot: text,
  since: text,
  /** The instant at which live memory is shown, ns from the beginning of the curve. */
  instant: wholeNumber,
  /** The kernel whose launches are shown. */
  opened: text,
  // what a picture shows, and what it hides
  metric: text,
  over: text,
  /** "all": no value is left out of the axes of Trends. */
  axis: oneOf("all"),
  strip: text,
  /** The tag of the job's own scalar. */
  scalar: text,
  runs: names,
  /** Trends: "all" lists every run, in place of those that compute the same thing. */
  among: oneOf("all"),
  by: text,
  /** What the change of a step is broken down by. */
  way: text,
  /** The chosen table of a comparison, and the chosen one of its rows. */
  table: text,
  moved: text,
  /** The order of the ranks of a job. */
  order_ranks: oneOf("rank", "host", "waits", "value"),
  /** The runs of the chain of experiments, in the reader's order. */
  order: names,
  idle: text,
  off: ids,
  bins: ids,
  /**
   * The flame graph: what is above the ops, what the widths mean, from which end it is drawn, the search text, the
   * frame that is zoomed into (`views/operators/flame/stage.tsx`), and the kinds of frames that are hidden.
   */
  paths: oneOf("stack", "module", "op"),
  cost: oneOf("device", "host", "idle", "bytes"),
  turned: oneOf("up"),
  seek: text,
  frame: text,
  kinds: ids,
  /** The line of code that is shown, "train.py(54): step", and the editor that links lead to. */
  line: text,
  editor: oneOf("vscode"),
  /** "off": hides the change of each line against the span that is compared. */
  line_change: oneOf("off"),
  /** The op whose calls are shown. */
  op: text,
  /** "made": work of the backward pass counts for the op of the forward pass that created it. */
  work: oneOf("made"),
  /** "single": repeated layers are listed module by module. */
  layers: oneOf("single"),
  // how figures are given, in every view: totals of all steps, and the unit of times
  totals: oneOf("recording"),
  unit: oneOf("us", "ms", "s"),
  /** Columns that the reader added or removed: "+gpus.name", "-sites.launches". */
  columns: ids,
  // what is typed into the filters
  kernel: text,
  ops: text,
  could: text,
  calls: text,
  exchanged: text,
  find: text,
  tracks: text,
  ...SORTS,
};

type Decoded<C> = C extends Codec<infer T> ? T : never;

/** The contents of the address. A key that it lacks, or whose value cannot be read, is missing. */
export type Address = { readonly [K in keyof typeof KEYS]?: Decoded<(typeof KEYS)[K]> };

/** Keys to write; null removes a key. */
export type Changes = { readonly [K in keyof Address]?: Address[K] | null };

export type SortKey = keyof typeof SORTS;

const isKey = (key: string): key is keyof Address => Object.hasOwn(KEYS, key);

/** Decodes pairs of key and written value. Keys of another release are ignored. */
export function decode(written: readonly (readonly [key: string, value: string])[]): Address {
  const values = written.flatMap(([key, value]) => (isKey(key) ? [[key, KEYS[key].read(value)] as const] : []));
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Encodes each change for writing; null removes the key. */
export function encode(changes: Changes): [key: string, value: string | null][] {
  return Object.entries(changes).flatMap(([key, value]): [string, string | null][] => {
    if (value === undefined || !isKey(key)) return [];
    return [[key, value === null ? null : (KEYS[key] as Codec<unknown>).write(value)]];
  });
}

/** A range as the address writes it; equal ranges are written alike. */
export const rangeKey = (range: TimeRange): string => timeRange.write(range);
