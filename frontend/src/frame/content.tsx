/** The area next to the list of views: the chosen view of the chosen span, or the state that it is in. */

import type { ComponentType } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  asOneStep,
  comparedWith,
  namesApart,
  type Selection,
  spanVersion,
  WHOLE_RECORDING,
} from "../address/selection";
import type { Headline, Index, PageOf, RanksPage, SpanHead, TrendsPage, ViewId } from "../api.gen";
import { aboutRuns, aboutSpan } from "../components/about";
import { Note } from "../components/note";
import { useLatest } from "../dom/hooks";
import type { Answer } from "../server/client";
import { failureOf, pageName, type Requested, type Source, useAnswer } from "../server/use_answer";
import { isReading } from "../server/watch";
import { Boundary, Gone } from "../states/states";
import { VIEWS } from "../views";
import { focusRun, trendRuns } from "../views/choices";
import { jobFirst } from "../views/overview/job_first";
import type { RanksViewProps, SpanViewProps, Tab, TrendsViewProps } from "../views/props";
import { trendsPart, withShortNames } from "../views/trends/asked";
import { triedLine } from "../views/tried";
import { type Comparison, ComparisonBar, weighed } from "./comparison";
import { PAIR, useOtherParts, usePart, withPart } from "./lazy_views";
import { type AnsweredProps, aboutOf, NotReady } from "./not_ready";
import { usePair } from "./pair";
import { CONTENT, simulatedRuns, Top, WithFoot } from "./top";
import { ViewList } from "./views";

interface ContentProps {
  view: ViewId;
  selection: Selection;
  tab: Tab;
  source: Source;
  /** Called once the content has arrived. */
  opened(): void;
}

export function Content({ view, selection: chosen, tab, source, opened }: ContentProps) {
  const selection = tab.state.steps === WHOLE_RECORDING ? asOneStep(chosen) : chosen;
  const { run: named } = tab.state; // it may have been deleted, or the link is of another log directory
  const { of } = VIEWS[view];
  const ofSpan = of === "span" ? view : "overview";
  const [tries, setTries] = useState(0);
  const id = selection.span.id;
  const page = usePage(ofSpan, selection, tries, source);
  const { runs, focus, part: trendsPart } = trendsAsked(tab);
  const trendsName = of === "spans" && runs !== null ? ["trends", focus, ...runs].join("\n") : null;
  const trends = useAnswer(
    source.cache,
    trendsName,
    trendsVersion(tab.index),
    (signal) => source.client.trends(runs!, focus, signal, trendsPart),
    "trends", // for other runs or another focus, the previous picture stays
  );
  const pair = usePair(of === "pair", chosen, tab, source);
  const withJob = view === "overview" && chosen.run.workers.length > 1;
  const job = useJob(of === "job" || withJob, chosen, tab.index, source);
  const part = usePart(view, source.cache);
  const held = useHeld(id, withJob && page.answer?.kind === "ready" && job.answer === null && job.trouble === null);
  const answers = {
    span: held ? { ...page, answer: null } : page,
    spans: trends,
    job,
    pair: pair.other ? pair.request : pair.chain,
  };
  const request = withPart<unknown>(answers[of], part);
  const isReady = stateOf(request) === "ready";
  useOtherParts(isReady);
  const latest = useLatest(opened);
  useEffect(() => {
    if (isReady) latest.current();
  }, [isReady, latest]);
  const comparison = useComparison(ofSpan, view === ofSpan, selection, tab, source);
  const head = useHead(id, page.answer);
  const meanings = useMeaningsOf(tab, head);
  const own = { ...tab, meanings };
  const Pair = PAIR.now();
  const again = async () => {
    if (request.trouble) {
      source.watch.now();
      return request.again();
    }
    await source.client.retry(of === "pair" ? pair.waits.span.id : id);
    source.watch.now();
    setTries(tries + 1);
  };
  return (
    <>
      <ViewList current={view} meanings={meanings} head={head} tab={tab} />
      <main id={CONTENT} data-state={stateOf(request)} tabIndex={-1}>
        {stateOf(request) !== "failed" && <Gone source={source} />}
        {named !== undefined && named !== chosen.run.name && (
          <Note cause={`There is no run ${named} here.`}>This is {chosen.run.name}.</Note>
        )}
        <Boundary name={`${view} ${id}`} about={aboutOf(selection, tab)}>
          {of === "span" && (
            <SpanContent
              view={view}
              request={withPart(answers.span, part)}
              job={withJob && job.answer?.kind === "ready" ? job.answer.value : null}
              {...{ comparison, selection, tab: own, again }}
            />
          )}
          {of === "spans" && (
            <TrendsContent
              view={view}
              request={withPart(trends, part)}
              tab={isShownAlone(chosen, tab) ? own : tab}
              {...{ selection, again }}
            />
          )}
          {of === "job" && (
            <JobContent request={withPart(job, part)} {...{ view, selection: chosen, tab: own, again }} />
          )}
          {of === "pair" &&
            (Pair ? (
              <Pair {...{ pair, chosen, again }} tab={own} />
            ) : (
              <NotReady request={request} selection={pair.waits} tab={own} {...{ view, again }} />
            ))}
        </Boundary>
      </main>
    </>
  );
}

/** Whether Trends shows no other run: labels are then those of its devices. */
function isShownAlone({ run }: Selection, tab: Tab): boolean {
  const shown = tab.index.runs.length === 1 ? [run.name] : trendRuns(tab);
  return shown?.length === 1 && shown[0] === run.name;
}

/** How long a page may be held back: a job of many ranks takes longer than its reader waits for one of them. */
const HELD_MS = 1_000;

/** Whether the page of that name is held back, so that the headline and cards of its job do not push aside its own. */
function useHeld(name: string, waits: boolean): boolean {
  const [late, setLate] = useState<string | null>(null);
  useEffect(() => {
    if (!waits) return;
    const timer = setTimeout(() => setLate(name), HELD_MS);
    return () => clearTimeout(timer);
  }, [name, waits]);
  return waits && late !== name;
}

/**
 * The chosen span's page. A failure that the index already reports is not requested: browsers log an error for each
 * 4xx.
 */
function usePage(
  view: ViewId,
  selection: Selection,
  tries: number,
  { client, cache, watched }: Source,
): Requested<PageOf<ViewId>> {
  const { id, state, error } = selection.span;
  const failed = state === "failed" && error !== null;
  const request = useAnswer(cache, failed ? null : pageName(view, id), `${spanVersion(selection)} ${tries}`, (signal) =>
    client.view(id, view, signal),
  );
  const { again } = request;
  const gone = watched.trouble !== null;
  const wasGone = useRef(gone);
  useEffect(() => {
    if (wasGone.current && !gone) again();
    wasGone.current = gone;
  }, [gone, again]);
  return failed ? { ...request, answer: { kind: "problem", value: error }, trouble: null } : request;
}

function SpanContent(props: AnsweredProps<PageOf<ViewId>> & { comparison: Comparison | null; job: RanksPage | null }) {
  const { view, request, comparison: asComparison, job, tab } = props;
  const { answer } = request;
  if (answer?.kind !== "ready") return <NotReady {...props} />;
  const page = answer.value;
  const comparison = asComparison && weighed(asComparison, page.head, tab);
  const View = VIEWS[view].part.now() as ComponentType<SpanViewProps<ViewId>>;
  const jobs = view === "overview" ? jobFirst(job) : null;
  return (
    <>
      <Top
        job={page.head.job}
        headline={jobs ?? (view === "overview" ? withoutRepeatedLink(page.headline) : page.headline)}
        simulated={page.head.simulated}
        notes={page.head.notes}
        quality={page.head.quality}
        second={view === "overview" && !jobs && triedLine(page as PageOf<"overview">, tab)}
        tab={tab}
      />
      {comparison && <ComparisonBar {...{ comparison, view, page, tab }} />}
      <WithFoot about={aboutSpan(view, page.head, tab)}>
        {page.gap || (
          <View
            page={page}
            tab={{ ...tab, steps: page.head.step_count }}
            compared={comparison?.compared ?? null}
            job={job}
          />
        )}
      </WithFoot>
    </>
  );
}

/** On the Overview the first card is in sight, and leads to the same view. */
const withoutRepeatedLink = (headline: Headline): Headline =>
  headline.card === null ? headline : { ...headline, view: null };

/** The meanings with the labels for the span's machine: an AMD GPU has matrix cores. */
function useMeaningsOf({ meanings }: Tab, head: SpanHead | null): Tab["meanings"] {
  const vendor = head?.job.vendor ?? null;
  const accelerator = head?.job.accelerator ?? "GPU";
  return useMemo(() => meanings.of({ vendor, accelerator }), [meanings, vendor, accelerator]);
}

/** The span that the address compares with: its recording as one step, where the chosen one is shown so. */
function otherOf({ index, state }: Tab, chosen: Selection): Selection | null {
  const found = comparedWith(index, state, chosen);
  const other = found && state.steps === WHOLE_RECORDING ? asOneStep(found) : found;
  return other?.span.id === chosen.span.id ? null : other;
}

/** The span that the address compares with, and its page once it has arrived. */
function useComparison(
  view: ViewId,
  ofSpan: boolean,
  chosen: Selection,
  tab: Tab,
  { client, cache }: Source,
): Comparison | null {
  const other = ofSpan ? otherOf(tab, chosen) : null;
  const version = other ? spanVersion(other) : "";
  const request = useAnswer(cache, other && pageName(view, other.span.id), version, (signal) =>
    client.view(other!.span.id, view, signal),
  );
  if (!other) return null;
  const names = namesApart(chosen, other);
  const compared = request.answer?.kind === "ready" ? { ...names, page: request.answer.value } : null;
  return { ...names, chosen, other, compared, failed: failureOf(request) };
}

function TrendsContent(props: AnsweredProps<TrendsPage>) {
  const { view, tab } = props;
  const { answer } = props.request;
  const page = useMemo(() => (answer?.kind === "ready" ? withShortNames(answer.value) : null), [answer]);
  if (page === null) return <NotReady {...props} />;
  const View = VIEWS[view].part.now() as ComponentType<TrendsViewProps>;
  const runs = page.spans.map(({ run }) => run);
  return (
    <>
      <Top headline={page.headline} {...simulatedRuns(tab.index, runs)} tab={tab} />
      <WithFoot about={aboutRuns(view, trendsAsked(tab).runs ?? [], tab)}>
        <View page={page} tab={tab} />
      </WithFoot>
    </>
  );
}

function stateOf(request: Requested<unknown>): "ready" | "reading" | "failed" {
  if (request.answer?.kind === "ready") return "ready";
  return failureOf(request) ? "failed" : "reading";
}

/** The header of the chosen span, from whichever of its views arrived last. */
function useHead(id: string, page: Answer<PageOf<ViewId>> | null): SpanHead | null {
  const last = useRef<SpanHead | null>(null);
  if (page?.kind === "ready") last.current = page.value.head;
  return last.current?.id === id ? last.current : null;
}

/** While many spans are being read, Trends is requested once per so many spans: its answer grows with all of them. */
const TRENDS_EVERY = 8;

/** runs: none named means all; null: not yet known which. */
function trendsAsked(tab: Tab) {
  const { index, state } = tab;
  const shown = trendRuns(tab);
  const runs = shown && (shown.length === index.runs.length ? [] : shown);
  return { runs, focus: focusRun(state, shown ?? []), part: trendsPart(index) };
}

function trendsVersion(index: Index): string {
  const ready = index.spans_ready;
  return (
    `${isReading(index) && ready > TRENDS_EVERY ? TRENDS_EVERY * Math.floor(ready / TRENDS_EVERY) : ready} ` +
    `${index.spans_total}`
  );
}

/** Another rank of the same job has the same answer. */
function useJob(on: boolean, chosen: Selection, index: Index, { client, cache }: Source): Requested<RanksPage> {
  const last = useRef<{ name: string; spans: readonly string[] } | null>(null);
  const { id } = chosen.span;
  const name = last.current?.spans.includes(id) ? last.current.name : `ranks ${id}`;
  const request = useAnswer(cache, on ? name : null, jobVersion(index, chosen), (signal) => client.ranks(id, signal));
  if (request.answer?.kind === "ready") last.current = { name, spans: request.answer.value.spans };
  return request;
}

/** Each rank that is read changes the answer: with many ranks, not each of them is worth a new request. */
function jobVersion(index: Index, { run }: Selection): string {
  const spans = run.workers.flatMap((worker) => worker.spans);
  const ready = spans.filter(({ state }) => state === "ready").length;
  const pace = ready < spans.length ? Math.max(1, Math.floor(ready / READ_BETWEEN)) : 1;
  return `${Math.floor(ready / pace)} ${ready === spans.length} ${index.spans_total}`;
}

/** The answer is requested again each time a further tenth of it is there. */
const READ_BETWEEN = 10;

function JobContent(props: AnsweredProps<RanksPage>) {
  const { view, selection, tab } = props;
  const { answer } = props.request;
  if (answer?.kind !== "ready") return <NotReady {...props} />;
  const page = answer.value;
  const View = VIEWS[view].part.now() as ComponentType<RanksViewProps>;
  return (
    <>
      <Top headline={page.headline} simulated={page.simulated} notes={page.notes} tab={tab} />
      <WithFoot about={aboutRuns(view, [selection.run.name], tab)}>
        <View page={page} chosen={selection} tab={tab} />
      </WithFoot>
    </>
  );
}
