/** The table of all runs of the log directory; those that compute the same are grouped. */

import { sum } from "d3-array";
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { compareKey, keysOf, type Selection, selections } from "../../address/selection";
import type { Index, Parts, RunEntry, RunLine, RunsPage } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { Spark } from "../../charts/lines/spark";
import { SearchField } from "../../components/filter";
import { Sentence } from "../../components/sentence";
import { textOf } from "../../components/waiting";
import { hint } from "../../dom/hint";
import { followed } from "../../dom/keys";
import { useRowWindow } from "../../dom/rows";
import { bytesOf, count, counted, ns, percent } from "../../format";
import { grouped as groupsOf } from "../../lists";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { capital, holds, wordsOf } from "../../words";
import type { Tab } from "../props";
import { Middle } from "../table_picture";

const ROW_PX = 28;

interface RunsProps {
  page: RunsPage;
  tab: Tab;
  /** Shown above the headline. */
  children?: ComponentChildren;
}

export function Runs({ page, tab, children }: RunsProps) {
  const { index, state, meanings, update } = tab;
  const all = useMemo(() => runsOf(index, page.lines), [index, page]);
  const filters = { having: state.having ?? "", limit: state.limit, machine: state.machine };
  const shown = sorted(shownRuns(all, filters, meanings), state.all_runs ?? "-share");
  const groups = state.grouped === "no" ? [{ work: null, title: "", runs: shown }] : grouped(shown);
  const [marked, mark] = useState<readonly string[]>([]);
  const lineOf = (name: string) => page.lines.find(({ run }) => run === name);
  const compare = (one: RunLine | undefined, other: RunLine | undefined) => {
    const [chosen, base] = [one, other].map((line) => line && placeOf(index, line));
    if (chosen && base) update({ ...keysOf(chosen), with: compareKey(base), view: "compare", all: null });
  };
  const compareMarked = () => compare(lineOf(marked[1] ?? ""), lineOf(marked[0] ?? ""));
  const toggle = (name: string) =>
    mark(marked.includes(name) ? marked.filter((each) => each !== name) : [...marked.slice(-1), name]);
  return (
    <>
      <Narrow all={all} tab={tab} />
      <main id="content" class="all-runs" data-state="ready" tabIndex={-1}>
        {children}
        <h1>{page.headline ? <Sentence phrase={page.headline} /> : "No run is read yet."}</h1>
        <div class="tools">
          <SearchField
            class="field"
            label="Find runs"
            placeholder="Any words of a name, job, GPU or fix"
            typed={filters.having}
            change={(having) => update({ having: having || null })}
          />
          <span class="quiet">
            Grouped by{" "}
            <button class="link" onClick={() => update({ grouped: state.grouped === "no" ? null : "no" })}>
              {state.grouped === "no" ? "nothing" : "what they compute"}
            </button>
          </span>
          {marked.length === 2 && (
            <button class="button" onClick={compareMarked}>
              Compare the two that are marked
            </button>
          )}
          <span class="quiet push" role="status">
            {shown.length < all.length
              ? `${count(shown.length)} of ${counted(all.length, "run")}`
              : `${counted(all.length, "run")}, ${counted(index.spans_total, "recording")}`}
            {page.left > 0 && `, ${count(page.left)} still to come`}
          </span>
        </div>
        <Lines
          {...{ groups, tab, marked, toggle }}
          compareGroup={(group) => compare(...extremes(group.runs))}
          compareMarked={compareMarked}
        />
        {shown.length === 0 && (
          <p class="quiet">
            No run is like that.{" "}
            <button class="link" onClick={() => update({ having: null, limit: null, machine: null })}>
              Show all
            </button>
          </p>
        )}
      </main>
    </>
  );
}

const placeOf = (index: Index, line: RunLine): Selection | undefined =>
  selections(index).find(({ span }) => span.id === line.span);

/** What limits the runs and where they ran, with the number of runs for each; a click filters by it. */
function Narrow({ all, tab: { state, meanings, update } }: { all: readonly Run[]; tab: Tab }) {
  const read = all.filter(({ line }) => line !== null);
  const entry = (key: "limit" | "machine", value: string, label: string, amount: number) => (
    <li key={value}>
      <button
        aria-pressed={state[key] === value}
        {...hint(value)}
        onClick={() => update({ [key]: state[key] === value ? null : value })}
      >
        <span class="clip">{label}</span> <span>{count(amount)}</span>
      </button>
    </li>
  );
  return (
    <nav class="views narrow" aria-label="Which runs">
      <h2>What limits</h2>
      <ul>
        {tally(read.map(({ line }) => limitOf(line!, meanings))).map(([limit, amount]) =>
          entry("limit", limit, limit, amount),
        )}
      </ul>
      <h2>Machine</h2>
      <ul>
        {tally(read.map(machineOf)).map(([machine, amount]) =>
          entry("machine", machine, shortMachine(machine), amount),
        )}
      </ul>
    </nav>
  );
}

interface LinesProps {
  groups: readonly Group[];
  tab: Tab;
  marked: readonly string[];
  toggle(name: string): void;
  compareGroup(group: Group): void;
  compareMarked(): void;
}

/** Column headers; those with an id sort, initially with the relevant end first: the longest, the largest. */
const HEADS = [
  { label: "Run", id: "run" },
  { label: "Step", id: "step", numeric: true },
  { label: "Trend" },
  { label: "Parts" },
  { label: "Limited by" },
  { label: "First fix" },
  { label: "Gain, up to", id: "gain", numeric: true },
  { label: "Share", id: "share", numeric: true },
];

function Lines({ groups, tab, marked, toggle, compareGroup, compareMarked }: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const rows = groups.flatMap((group) => [
    ...(group.title === "" ? [] : [{ group, run: null }]),
    ...group.runs.map((run) => ({ group, run })),
  ]);
  const view = useRowWindow(box, rows.length, ROW_PX);
  const by = tab.state.all_runs ?? "-share";
  const typed = (event: KeyboardEvent, name: string) => {
    if (event.key === " ") toggle(name);
    else if (event.key === "c" && marked.length === 2) compareMarked();
    else return;
    event.preventDefault();
  };
  return (
    <div class="lines" role="table" aria-label="Runs" aria-rowcount={rows.length + 1}>
      <div class="line heads" role="row">
        {HEADS.map(({ label, id, numeric }) => (
          <span
            key={label}
            role="columnheader"
            class={numeric ? "num" : ""}
            aria-sort={id && by.endsWith(id) ? (by.startsWith("-") ? "descending" : "ascending") : undefined}
          >
            {id ? (
              <button onClick={() => tab.update({ all_runs: by === `-${id}` ? id : `-${id}` })}>
                {label}
                {by.endsWith(id) && (by.startsWith("-") ? " ↓" : " ↑")}
              </button>
            ) : (
              label
            )}
          </span>
        ))}
      </div>
      <div class="scroll" ref={box}>
        <div style={{ height: `${view.above_px}px` }} />
        {rows.slice(view.first, view.end).map(({ group, run }) =>
          run === null ? (
            <div key={`group ${group.title} ${group.work}`} class="line group" role="row">
              <span role="cell" class="clip">
                <b>{group.title}</b>{" "}
                <span class="quiet small">
                  {group.work === null
                    ? counted(group.runs.length, "run")
                    : `${counted(group.runs.length, "run")} of the same work, ${bestText(group.runs)}`}
                </span>
              </span>
              {group.work !== null && (
                <span role="cell" class="push">
                  <button class="link" onClick={() => compareGroup(group)}>
                    Compare
                  </button>
                </span>
              )}
            </div>
          ) : (
            <Line
              key={run.name}
              {...{ run, tab }}
              machine={group.work !== null && machineOf(run) === machineOf(group.runs[0]!) ? "" : machineOf(run)}
              marked={marked.includes(run.name)}
              typed={(event) => typed(event, run.name)}
            />
          ),
        )}
        <div style={{ height: `${view.below_px}px` }} />
      </div>
    </div>
  );
}

const OF_JOB = "Step and fix are of the job, parts of one rank.";

/** Two trainings that wrote into one folder are one run in the list of files. */
const OTHERS = "The figures of this row are those of its first process.";

interface LineProps {
  run: Run;
  /** Empty where the title of its group says it. */
  machine: string;
  tab: Tab;
  marked: boolean;
  typed(event: KeyboardEvent): void;
}

function Line({ run, machine, tab, marked, typed }: LineProps) {
  const { line } = run;
  const place = (line && placeOf(tab.index, line)) ?? selections({ ...tab.index, runs: [run.entry] })[0];
  const to = { ...(place && keysOf(place)), all: null };
  return (
    <div class={marked ? "line marked" : "line"} role="row" onClick={followed(() => tab.update(to))} onKeyDown={typed}>
      <span role="cell" class="unbroken">
        <a href={tab.address(to)} {...hint(machine ? `${run.name}, ${machine}` : run.name)}>
          <Middle name={run.name} />
        </a>
        {line && line.ranks > 1 && (
          <span class="quiet" {...hint(OF_JOB)}>
            {" "}
            ({count(line.ranks)} ranks)
          </span>
        )}
        {line && line.others > 0 && (
          <span class="quiet" {...hint(OTHERS)}>
            {" "}
            and {counted(line.others, "process", "processes")} of other work
          </span>
        )}
        {machine && <span class="quiet small"> {shortMachine(machine)}</span>}
      </span>
      {line ? <Read {...{ line, tab }} /> : <Unread run={run} />}
    </div>
  );
}

function Read({ line, tab: { meanings } }: { line: RunLine; tab: Tab }) {
  const { step_ns: step, parts_ns: parts, trend_ns: trend, gain_ns: gain } = line;
  const whole = sum(Object.values(parts)); // of one rank: less than its job's step
  const segments = meanings.parts.map(({ id, colour, hatched }) => ({
    share: whole ? parts[id as keyof Parts] / whole : 0,
    colour,
    hatched,
  }));
  return (
    <>
      <span role="cell" class="num">
        {ns(step)}
      </span>
      <span role="cell">
        <Spark runs={[{ values: trend, firm: true }]} colour="ink" height={18} />
      </span>
      <span role="cell">
        <InlineBar segments={segments} />
      </span>
      <span role="cell" class="clip">
        {limitOf(line, meanings)}
      </span>
      <span role="cell" class="clip" data-hint={fixText(line)}>
        {line.fix ? <Sentence phrase={line.fix} /> : <span class="quiet">Nothing that saves time</span>}
        {line.agreement && (
          <span class="quiet">
            {" "}
            (<Sentence phrase={line.agreement} />)
          </span>
        )}
      </span>
      <span role="cell" class="num">
        {gain > 0 && <b>{ns(gain)}</b>}
      </span>
      <span role="cell" class="num">
        {gain > 0 && percent(line.gain_fraction)}
      </span>
    </>
  );
}

/** The first fix in full, since its column may cut it. */
const fixText = ({ fix, agreement }: RunLine): string =>
  fix ? sentence(fix) + (agreement ? ` (${sentence(agreement)})` : "") : "";

/** How much of the run has been read, or why it cannot be. */
function Unread({ run: { entry } }: { run: Run }) {
  const spans = entry.workers.flatMap((worker) => worker.spans);
  const failed = spans.find(({ error }) => error !== null)?.error;
  const progress = spans.find(({ progress }) => progress !== null)?.progress;
  return (
    <span role="cell" class="unread clip quiet">
      {failed
        ? textOf(failed)
        : progress
          ? `Reading ${bytesOf(progress.read_bytes, progress.total_bytes)}`
          : "Waits to be read"}
    </span>
  );
}

/** A null line: the run has not been read, or could not be. */
interface Run {
  name: string;
  entry: RunEntry;
  line: RunLine | null;
}

interface Group {
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
function runsOf({ runs }: Index, lines: readonly RunLine[]): Run[] {
  const byName = new Map(lines.map((line) => [line.run, line]));
  return runs.map((entry) => ({ name: entry.name, entry, line: byName.get(entry.name) ?? null }));
}

const machineOf = ({ line }: Run): string => (line ? sentence(line.machine) : "");

/** "NVIDIA GeForce RTX 4090" as "RTX 4090": a column of GPUs has no room for their makers. */
const shortMachine = (name: string): string => name.replace(/(NVIDIA|GeForce|Tesla|AMD|Instinct) /g, "");

/** "loader" */
const limitOf = ({ bound }: RunLine, { paces }: Meanings): string => paces[bound] ?? bound;

/** The words may be anywhere in a row: name, kind of job, machine, what limits it, first fix. */
function shownRuns(runs: readonly Run[], { having, limit, machine }: Wanted, meanings: Meanings): Run[] {
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
function sorted(runs: readonly Run[], by: string): Run[] {
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
function grouped(runs: readonly Run[]): Group[] {
  const together = groupsOf(runs, ({ line }) => line?.work ?? null);
  const groups = [...together].filter(([work, of]) => work !== null && of.length > 1);
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
function extremes(runs: readonly Run[]): [fast: RunLine, slow: RunLine] {
  const lines = runs.flatMap(({ line }) => (line ? [line] : [])).sort((a, b) => a.step_ns - b.step_ns);
  return [lines[0]!, lines[lines.length - 1]!];
}

const bestText = (runs: readonly Run[]): string => `best ${ns(extremes(runs)[0].step_ns)}`;

/** The number of lines per value, the most frequent first. */
function tally(values: readonly string[]): [value: string, count: number][] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}
