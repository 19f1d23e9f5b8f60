/** The narrow bar at the top: a path of run, worker and span, what is being read, a search, and a link to share. */

import { sum } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import { encode } from "../address/keys";
import {
  comparedWith,
  compareKey,
  endOfComparison,
  inRun,
  inWorker,
  keysOf,
  namesApart,
  namesIn,
  type Selection,
} from "../address/selection";
import type { Index, SpanEntry, ViewId, WorkerEntry } from "../api.gen";
import { Reporting, useReport } from "../components/copy";
import { Hints } from "../components/hints";
import { Chevron, Menu } from "../components/popup";
import { hint } from "../dom/hint";
import { followed } from "../dom/keys";
import { copy, fileName, saveBlob } from "../dom/save";
import { bytesOf, count, counted } from "../format";
import type { Place } from "../server/client";
import type { Source } from "../server/use_answer";
import { focusRun, namedRuns, trendRuns } from "../views/choices";
import { hasTotals, VIEWS } from "../views/index";
import type { Tab } from "../views/props";
import { compareEntries, namedByRun, runEntries, spanEntries, steps, workerEntries } from "./entries";
import { PaletteButton } from "./palette/palette_button";
import { Picker, type PickerEntry } from "./picker";
import { ShortcutsButton } from "./shortcuts";

interface BarProps extends Pick<ShareProps, "summary"> {
  view: ViewId;
  selection: Selection | null;
  /** Whether all runs are shown, in place of a view of one. */
  all: boolean;
  /** The number of spans when the tab was opened. */
  spansAtFirst: number;
  tab: Tab;
  source: Source;
}

export function Bar(props: BarProps) {
  const { view, selection, all, spansAtFirst, tab, source, summary } = props;
  const { index } = tab;
  const one = all ? null : selection;
  const other = selection && comparedWith(index, tab.state, selection);
  const simulated = selection?.run.simulated ?? false;
  const [opened, setOpened] = useState(false);
  return (
    <header class="bar">
      <span class="name">Step Insights</span>
      <div class="choice">
        {one && (
          <button class="drawer" aria-expanded={opened} onClick={() => setOpened(!opened)}>
            <span class="clip">{[one.run.name, ...namesIn(one), ...(simulated ? ["simulated"] : [])].join(", ")}</span>
            <Chevron to="down" />
          </button>
        )}
        <div class="chosen">
          {source.client.runs && index.runs.length > 1 && <AllRunsLink here={all} tab={tab} />}
          {one &&
            (VIEWS[view].of === "spans" ? <FocusPicker chosen={one} tab={tab} /> : <Pickers chosen={one} tab={tab} />)}
          {one && index.spans_total > 1 && <ComparePicker chosen={one} tab={tab} />}
          {one && simulated && (
            <b class="stamp" {...hint("These figures come from a simulator, not from a recording.")}>
              Simulated
            </b>
          )}
          <span class="state push" {...hint(failures(index))}>
            {tab.written_ms === undefined && readState(index, spansAtFirst)}
          </span>
          {one && hasTotals(view) && hasSteps(one.span) && <TotalsPicker tab={tab} />}
        </div>
      </div>
      {selection && <PaletteButton {...{ tab, selection, source }} />}
      <Share
        name={[one?.run.name ?? "All runs", ...(one && other ? [other.run.name] : [])].join(" vs ")}
        link={() => tab.address(tab.state.with === undefined ? {} : { with: tab.state.with })}
        summary={summary}
        report={
          source.client.report &&
          (() =>
            source.client.report!(
              placeIn(view, selection, tab),
              other && { base: other.span.id, candidate: selection!.span.id },
            ))
        }
      />
      <Hints />
      <ShortcutsButton />
    </header>
  );
}

/** Where a report that is saved here opens. It has no single events, of which the Timeline is made. */
function placeIn(view: ViewId, selection: Selection | null, { state }: Tab): Place {
  const chosen = selection && { run: selection.run.name, worker: selection.worker.name, span: selection.span.number };
  const written = encode({ ...state, ...chosen, ...(view === "timeline" && { view: null }) });
  return Object.fromEntries(written.flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

/** Links to all runs of the log directory, and back to the run that was open. */
function AllRunsLink({ here, tab: { address, update } }: { here: boolean; tab: Tab }) {
  const to = { all: here ? null : ("runs" as const) };
  return (
    <div class="picker firm">
      <a class="pick" href={address(to)} onClick={followed(() => update(to))}>
        {here ? "Back to the run" : "All runs"}
      </a>
    </div>
  );
}

interface PickerProps {
  chosen: Selection;
  tab: Tab;
}

function Pickers({ chosen, tab }: PickerProps) {
  const { runs } = tab.index;
  const { run, worker, span } = chosen;
  const open = (next: Selection | null) => next && tab.update(keysOf(next));
  const spans = spanText(span, worker);
  return (
    <>
      <Picker
        label="Run"
        many="runs"
        entries={runEntries(runs, chosen, tab.works)}
        chosen={run.name}
        choose={(name) => open(inRun(runs.find((other) => other.name === name)!, chosen))}
      />
      {!namedByRun(chosen) && (
        <Picker
          label="Worker"
          many="workers"
          entries={workerEntries(run, chosen)}
          chosen={worker.name}
          choose={(name) => open(inWorker(run, run.workers.find((other) => other.name === name)!, chosen))}
        />
      )}
      {spans && (
        <Picker
          label="Span"
          many="spans"
          entries={spanEntries(worker.spans)}
          chosen={String(span.number)}
          {...spans}
          choose={(number) =>
            open({ run, worker, span: worker.spans.find((other) => String(other.number) === number)! })
          }
        />
      )}
    </>
  );
}

/**
 * Where a view shows many spans, the run that it is about: one of those that the reader chose, or any other, which
 * brings runs of the same work with it.
 */
function FocusPicker({ chosen, tab }: PickerProps) {
  const { runs: every } = tab.index;
  const all = every.map((run) => run.name);
  const named = namedRuns(tab.state, all);
  const shown = trendRuns(tab) ?? all;
  const runs = named.length > 0 ? every.filter((run) => named.includes(run.name)) : every;
  const open = (next: Selection | null) => next && tab.update(keysOf(next));
  return (
    <Picker
      label="Run in focus"
      many="runs"
      entries={runEntries(runs, chosen, tab.works)}
      chosen={focusRun(tab.state, shown) ?? shown[shown.length - 1]!}
      choose={(name) => open(inRun(runs.find((run) => run.name === name)!, chosen))}
    />
  );
}

/** No span: compares with nothing. */
const NONE: PickerEntry = { id: "", label: "none", aside: "" };

function ComparePicker({ chosen, tab }: PickerProps) {
  const { index, works } = tab;
  const { id } = chosen.span;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id says which span is chosen
  const entries = useMemo(() => [NONE, ...compareEntries(chosen, index, works)], [index, id, works]);
  const compared = comparedWith(index, tab.state, chosen);
  return (
    <Picker
      label="Compare with"
      many="spans"
      shownLabel="Compare with"
      closed={compared ? undefined : "Compare"}
      entries={entries}
      chosen={compared ? compareKey(compared) : NONE.id}
      {...(compared && { value: shortly(chosen, compared) })}
      choose={(key) => tab.update(key === NONE.id ? endOfComparison(tab.state) : { with: key })}
    />
  );
}

/** The compared span as the views name it, and which of its run's spans it is. */
const shortly = (chosen: Selection, compared: Selection): string =>
  [...new Set([namesApart(chosen, compared).name, ...namesIn(compared)])].join(", ");

/** A single step, or a recording without marked steps, has no mean that differs from its sum. */
const hasSteps = ({ first_step: first, last_step: last }: SpanEntry): boolean => first !== last;

/** Whether times and counts are of a mean step or of all steps, in every table and tile. */
function TotalsPicker({ tab }: { tab: Tab }) {
  return (
    <Picker
      label="Totals"
      many="choices"
      apart
      entries={TOTALS}
      chosen={tab.state.totals ?? "step"}
      choose={(id) => tab.update({ totals: id === "recording" ? id : null })}
    />
  );
}

const TOTALS: readonly PickerEntry[] = [
  { id: "step", label: "per step", aside: "mean of the recorded steps" },
  { id: "recording", label: "all steps", aside: "sum over the whole recording" },
];

/** The span in the path: "1" of 2 and its steps, or only the steps of a single one; null where that says nothing. */
function spanText(span: SpanEntry, worker: WorkerEntry): { value: string; rest?: string; shownLabel?: string } | null {
  if (worker.spans.length > 1)
    return { value: String(span.number), rest: ` of ${count(worker.spans.length)}${steps(span)}`, shownLabel: "span" };
  const named = steps(span).slice(", ".length);
  return named === "" ? null : { value: named };
}

/** What is being read, or what is new, not read or failed; empty where all is read. */
export function readState(index: Index, spansAtFirst: number): string {
  const reading = readingNow(index);
  const total = sum(reading, (span) => span.progress!.total_bytes);
  const read = sum(reading, (span) => span.progress!.read_bytes);
  if (total > 0) return `Reading ${bytesOf(read, total)}`;
  const { spans_ready: ready, spans_total: all } = index;
  const fresh = all - spansAtFirst;
  const failed = failedIn(index).length;
  return [
    fresh > 0 && counted(fresh, "new span"),
    ready < all && `${count(ready)} of ${counted(all, "span")} read`,
    failed > 0 && `${count(failed)} failed`,
  ]
    .filter(Boolean)
    .join(", ");
}

const spansOf = (index: Index): SpanEntry[] =>
  index.runs.flatMap((run) => run.workers.flatMap((worker) => worker.spans));

const failedIn = (index: Index): SpanEntry[] => spansOf(index).filter((span) => span.state === "failed");

/** Which files could not be read, and why; no more than a popover holds. */
const failures = (index: Index): string =>
  failedIn(index)
    .slice(0, 5)
    .map(({ file, error }) => `${file}: ${error?.problem}.`)
    .join(" ");

const readingNow = (index: Index): SpanEntry[] =>
  spansOf(index).filter((span) => span.state === "reading" && span.progress !== null);

/** What can be shared: the address of what is shown, its summary as text, everything as one page. */
interface ShareProps {
  /** What is shown, by which its report is called. */
  name: string;
  link(): string;
  /** The summary of the chosen span; null: it is not known. */
  summary(): Promise<string | null>;
  /** The page; null: it could not be fetched. Absent: this already is such a page. */
  report: (() => Promise<Blob | null>) | undefined;
}

const WITHOUT_EVENTS =
  "One page with all views, which opens at this one. It has no single events: tb-steptime report --timeline has them.";

const SAVING = "Saving…";

/** Three bytes for each, the longest that most letters take, fit into a file name of 255 bytes. */
const MOST_LETTERS = 80;

function Share({ name, link, summary, report }: ShareProps) {
  const [message, say] = useReport(SAVING);
  const copied = async (text: string | null) => say(text !== null && (await copy(text)) ? "Copied" : "Not copied");
  const saved = async (page: Promise<Blob | null>) => {
    say(SAVING);
    const blob = await page;
    if (blob) saveBlob(`${fileName(name.slice(0, MOST_LETTERS))} report.html`, blob);
    say(blob ? "Saved" : "Not saved");
  };
  const entries = [
    { label: "Copy link", choose: () => void copied(link()) },
    { label: "Copy summary as Markdown", choose: async () => copied(await summary().catch(() => null)) },
    ...(report ? [{ label: "Save as report", hint: WITHOUT_EVENTS, choose: () => void saved(report()) }] : []),
  ];
  return (
    <Menu label="Share: link, summary, report" entries={entries}>
      <Reporting report={message}>Share</Reporting>
    </Menu>
  );
}
