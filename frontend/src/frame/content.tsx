/** What stands next to the list of views: the chosen view of the chosen span, or the state that it is in. */

import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { asOneStep, comparedWith, distinctName, type Selection, WHOLE_RECORDING } from "../address/selection";
import type { Index, PageOf, SpanHead, TrendsPage, ViewId } from "../api.gen";
import type { Answer, Client } from "../server/client";
import { type AnswerCache, useAnswer } from "../server/use_answer";
import { isReading, type Watch, type Watched } from "../server/watch";
import { Boundary, Failed } from "../states/failed";
import { Gone } from "../states/gone";
import { Reading } from "../states/reading";
import { compares, VIEWS } from "../views";
import { focusRun, namedRuns } from "../views/choices";
import type { Compared, SpanViewProps, Tab, TrendsViewProps } from "../views/props";
import { Top } from "./top";
import { ViewList } from "./views";

/** Where answers come from. */
export interface Source {
  client: Client;
  cache: AnswerCache;
  watched: Watched;
  watch: Watch;
}

interface ContentProps {
  view: ViewId;
  selection: Selection;
  tab: Tab;
  source: Source;
}

export function Content({ view, selection: chosen, tab, source }: ContentProps) {
  const selection = tab.state.steps === WHOLE_RECORDING ? asOneStep(chosen) : chosen;
  const ofSpan = VIEWS[view].of === "span" ? view : "overview";
  const [tries, setTries] = useState(0);
  const id = selection.span.id;
  const page = usePage(ofSpan, selection, tries, source);
  const { runs, focus } = trendsAsked(tab);
  const trendsName = view === ofSpan ? null : ["trends", focus, ...runs].join("\n");
  const trends = useLast(
    useAnswer(source.cache, trendsName, trendsVersion(tab.index), () => source.client.trends(runs, focus)),
  );
  const compared = useCompared(view, selection, tab, source);
  const head = useHead(id, page);
  const again = async () => {
    await source.client.retry(id);
    source.watch.now();
    setTries(tries + 1);
  };
  return (
    <>
      <ViewList current={view} meanings={tab.meanings} head={head} tab={tab} />
      <main data-state={stateOf(view === ofSpan ? page : trends)} tabIndex={-1}>
        {source.watched.retry_ms !== null && (
          <Gone received_ms={source.watched.received_ms} retry_ms={source.watched.retry_ms} now={source.watch.now} />
        )}
        <Boundary name={`${view} ${id}`} about={aboutOf(selection, tab)}>
          {view === ofSpan ? (
            <SpanContent view={view} answer={page} compared={compared} selection={selection} tab={tab} again={again} />
          ) : (
            <TrendsContent view={view} answer={trends} selection={selection} tab={tab} again={again} />
          )}
        </Boundary>
      </main>
    </>
  );
}

/** How often the index is asked for while the chosen span is not read yet. */
const UNREAD_MS = 1_000;

/**
 * The chosen span's page. What the index says of a failure need not be asked for: browsers log an error for each 4xx.
 */
function usePage(
  view: ViewId,
  selection: Selection,
  tries: number,
  { client, cache, watch, watched }: Source,
): Answer<PageOf<ViewId>> | null {
  const { id, state, error } = selection.span;
  const failed = state === "failed" && error !== null;
  const answer = useAnswer(cache, failed ? null : `${view} ${id}`, `${spanVersion(selection)} ${tries}`, () =>
    client.view(id, view),
  );
  const unsettled = (state === "unread" || state === "reading") && watched.retry_ms === null;
  useEffect(() => {
    if (!unsettled) return;
    const timer = setInterval(watch.now, UNREAD_MS);
    return () => clearInterval(timer);
  }, [unsettled, watch]);
  return failed ? { kind: "problem", value: error } : answer;
}

interface AnsweredProps<T> {
  view: ViewId;
  answer: Answer<T> | null;
  selection: Selection;
  tab: Tab;
  again(): void;
}

function SpanContent({
  view,
  answer,
  compared,
  selection,
  tab,
  again,
}: AnsweredProps<PageOf<ViewId>> & { compared: Compared<ViewId> | null }) {
  if (answer?.kind !== "ready")
    return <NotReady view={view} answer={answer} selection={selection} tab={tab} again={again} />;
  const page = answer.value;
  const View = VIEWS[view].Content as ComponentType<SpanViewProps<ViewId>>;
  return (
    <>
      <Top
        job={page.head.job}
        headline={page.headline}
        simulated={page.head.simulated}
        notes={page.head.notes}
        tab={tab}
      />
      <View page={page} tab={tab} compared={compared} />
    </>
  );
}

/** The page next to the chosen one, once it is there. */
function useCompared(view: ViewId, chosen: Selection, tab: Tab, { client, cache }: Source): Compared<ViewId> | null {
  const other = compares(view) ? comparedWith(tab.index, tab.state, chosen) : null;
  const answer = useAnswer(cache, other && `${view} ${other.span.id}`, other ? spanVersion(other) : "", () =>
    client.view(other!.span.id, view),
  );
  return other && answer?.kind === "ready" ? { name: distinctName(other, chosen), page: answer.value } : null;
}

function TrendsContent({ view, answer, selection, tab, again }: AnsweredProps<TrendsPage>) {
  if (answer?.kind !== "ready")
    return <NotReady view={view} answer={answer} selection={selection} tab={tab} again={again} />;
  const View = VIEWS[view].Content as ComponentType<TrendsViewProps>;
  return (
    <>
      <Top job={null} headline={answer.value.headline} simulated={simulatedRuns(tab.index)} notes={[]} tab={tab} />
      <View page={answer.value} tab={tab} />
    </>
  );
}

/** A picture of many runs says which of them nobody recorded. */
function simulatedRuns(index: Index): string | null {
  const names = index.runs.filter((run) => run.simulated).map((run) => run.name);
  return names.length === 0 ? null : `These runs come from a simulator: ${names.join(", ")}.`;
}

function NotReady({ view, answer, selection, tab, again }: AnsweredProps<unknown>) {
  if (answer?.kind === "problem") {
    return (
      <Failed
        title="This trace could not be analysed."
        problem={answer.value}
        about={aboutOf(selection, tab)}
        again={again}
      />
    );
  }
  // a moment: its summary is read
  if (answer === null && selection.span.state === "ready") return <h1 class="visually-hidden">Opening.</h1>;
  const { worker, span, run } = selection;
  const waiting =
    answer?.kind === "waiting" ? { ...answer.value, progress: span.progress ?? answer.value.progress } : null;
  const place = worker.rank === null ? worker.name : `rank ${worker.rank}`;
  return (
    <Reading
      name={worker.spans.length > 1 ? `${place}, span ${span.number}` : `${place} of ${run.name}`}
      waiting={waiting}
      fileBytes={span.file_bytes}
      tiles={
        (tab.meanings.views.find((other) => other.id === view) ?? tab.meanings.views[0])?.tiles.map(
          (id) => tab.meanings.metric(id).label,
        ) ?? []
      }
      ready={tab.index.spans_ready}
    />
  );
}

function stateOf(answer: Answer<unknown> | null): "ready" | "reading" | "failed" {
  if (answer?.kind === "ready") return "ready";
  return answer?.kind === "problem" ? "failed" : "reading";
}

/** The head of the chosen span, from whichever of its views came last. */
function useHead(id: string, page: Answer<PageOf<ViewId>> | null): SpanHead | null {
  const last = useRef<SpanHead | null>(null);
  if (page?.kind === "ready") last.current = page.value.head;
  return last.current?.id === id ? last.current : null;
}

/** A page changes with its span's state, and its sparks with every neighbour that is read. */
function spanVersion({ worker, span }: Selection): string {
  return `${span.state} ${worker.spans.filter((other) => other.state === "ready").length}`;
}

/** While many spans are read, Trends is not asked for again with each of them: its answer grows with all. */
const TRENDS_EVERY = 8;

/** Other runs or another focus: the picture of before stands until the new one is there. */
function useLast(answer: Answer<TrendsPage> | null): Answer<TrendsPage> | null {
  const last = useRef<Answer<TrendsPage> | null>(null);
  if (answer?.kind === "ready") last.current = answer;
  return answer ?? last.current;
}

function trendsAsked({ index, state }: Tab) {
  const all = index.runs.map((run) => run.name);
  const runs = namedRuns(state, all);
  return { runs, focus: focusRun(state, runs.length > 0 ? runs : all) };
}

function trendsVersion(index: Index): string {
  const ready = index.spans_ready;
  return (
    `${isReading(index) && ready > TRENDS_EVERY ? TRENDS_EVERY * Math.floor(ready / TRENDS_EVERY) : ready} ` +
    `${index.spans_total}`
  );
}

function aboutOf({ run, worker, span }: Selection, tab: Tab): string {
  return (
    `Run ${run.name}, worker ${worker.name}, span ${span.number}, ${span.file_bytes} bytes. Step ` +
    `Insights ${tab.meanings.version}.`
  );
}
