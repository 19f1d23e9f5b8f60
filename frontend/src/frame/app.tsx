/** The whole tab: watches the index, knows what is selected, and combines bar, list of views and content. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Address } from "../address/keys";
import { compareKey, type Selection, selected, selections } from "../address/selection";
import type { UrlStore } from "../address/url";
import type { Catalogue, Index, RunsPage, ViewId } from "../api.gen";
import { Patterns } from "../colour";
import { Terms } from "../components/sentence";
import { Late } from "../components/waiting";
import { adoptFonts } from "../dom/fonts";
import { counted } from "../format";
import { later } from "../lazy";
import { type Meanings, meaningsOf } from "../meanings";
import type { Answer, Client } from "../server/client";
import {
  type AnswerCache,
  type Failure,
  failureOf,
  type Requested,
  type Source,
  useAnswer,
} from "../server/use_answer";
import { type Rounds, type Watched, watchIndex } from "../server/watch";
import { Boundary, Empty, Failed, Gone, Opening } from "../states/states";
import { isViewId, VIEWS } from "../views/index";
import { laterView } from "../views/later_view";
import type { Tab } from "../views/props";
import { usualBase, type Works, worksOf } from "../views/works";
import { Bar } from "./bar";
import { Content } from "./content";
import { useFirstPart, usePartOf, withPart } from "./lazy_views";
import { SnapshotContent, shownSnapshot } from "./snapshot";
import { CONTENT, SkipLink } from "./top";

interface AppProps {
  client: Client;
  url: UrlStore;
  /** Answers that are already known, or will be when the index arrives. */
  answers?: AnswerCache;
}

export function App({ client, url, answers }: AppProps) {
  const cache = useRef<AnswerCache>(answers ?? new Map()).current;
  const state = useUrl(url);
  const [watched, watch] = useIndex(client);
  const catalogue = useAnswer(cache, "catalogue", "", client.catalogue);
  const meanings = useMeanings(catalogue.answer?.kind === "ready" ? catalogue.answer.value : null);
  useFirstPart(viewOf(state));
  const index = watched?.index ?? null;
  const again = () => {
    watch?.now();
    catalogue.again();
  };
  if (index === null || meanings === null)
    return <Outside failed={watched?.trouble ?? failureOf(catalogue)} again={again} />;
  const { update, address } = url;
  const { written_ms } = client;
  const tab: Tab = { meanings, index, state, steps: 1, works: null, source: client, written_ms, update, address };
  return (
    <Terms.Provider value={meanings.terms}>
      <Inside tab={tab} source={{ client, cache, watched: watched!, watch: watch! }} entitle={url.entitle} />
    </Terms.Provider>
  );
}

/** Before the first answer: nothing for a moment, then what is in progress, then why it fails. */
function Outside({ failed, again }: { failed: Failure | null; again(): void }) {
  return (
    <main class="alone" data-state={failed ? "failed" : "reading"} aria-busy={!failed}>
      {failed ? (
        <Failed title="Step Insights cannot be shown." {...failed} about="" again={again} />
      ) : (
        <Late meanwhile={<h1 class="visually-hidden">Looking for traces.</h1>}>
          <Opening title="Looking for traces" reads="TensorBoard lists the runs of its log directory." />
        </Late>
      )}
    </main>
  );
}

function Inside({ tab: initial, source, entitle }: { tab: Tab; source: Source; entitle: UrlStore["entitle"] }) {
  const { index, state } = initial;
  const selection = useSelection(index, state);
  const spansAtFirst = useRef(index.spans_total).current;
  const view = viewOf(state);
  const [opened, setOpened] = useState(false);
  const { runs: can } = source.client;
  const all = state.all === "runs" && can !== undefined;
  const lines = useLines({ view, several: all || state.with !== undefined, opened }, index, source);
  const works = useWorks(lines, selection?.run.name, can !== undefined && index.runs.length > 1);
  const tab = useUsualPair({ ...initial, works }, view, selection);
  const snapshot = shownSnapshot(tab.index, tab.state, source.client);
  const title = [...(all ? ["All runs"] : [tab.meanings.viewTitle(view), selection?.run.name]), "Step Insights"]
    .filter(Boolean)
    .join(" · ");
  useEffect(() => entitle(title), [title, entitle]);
  const shown = useRef(title);
  if (shown.current !== title) {
    shown.current = title;
    adoptFonts();
  }
  return (
    <div class="app">
      <SkipLink />
      <Patterns />
      <Bar
        {...{ view, selection, all, spansAtFirst, tab, source }}
        summary={async () => (selection ? (await SUMMARY.load())(view, selection, source, tab) : null)}
      />
      <Finished index={tab.index} />
      {all ? (
        <Boundary name="" about="">
          <AllRuns lines={lines} tab={tab} source={source} />
        </Boundary>
      ) : snapshot ? (
        <SnapshotContent key={snapshot.id} entry={snapshot} tab={tab} source={source} />
      ) : selection ? (
        <Content view={view} selection={selection} tab={tab} source={source} opened={() => setOpened(true)} />
      ) : (
        <main id={CONTENT} class="wide" data-state="empty" tabIndex={-1}>
          <Gone source={source} />
          <Empty index={tab.index} />
        </main>
      )}
    </div>
  );
}

const SUMMARY = later(async () => (await import("./summary")).summaryOf);

const viewOf = ({ view }: Address): ViewId => (isViewId(view) ? view : "overview");

/** The view whose page of the span is requested first: views of several spans need the header that every page has. */
export function firstPage(address: Address): ViewId {
  const view = viewOf(address);
  return VIEWS[view].of === "span" ? view : "overview";
}

function useUrl(url: UrlStore): Address {
  const [state, setState] = useState(url.read);
  useEffect(() => url.listen(() => setState(url.read())), [url]);
  return state;
}

function useIndex(client: Client): [Watched | null, Rounds | null] {
  const [watched, setWatched] = useState<Watched | null>(null);
  const [watch, setWatch] = useState<Rounds | null>(null);
  useEffect(() => {
    const begun = watchIndex(client.index, setWatched);
    setWatch(begun);
    return begun.stop;
  }, [client]);
  return [watched, watch];
}

const useMeanings = (catalogue: Catalogue | null): Meanings | null =>
  useMemo(() => (catalogue ? meaningsOf(catalogue) : null), [catalogue]);

/** While the address names no span, the tab must not jump to another one that becomes ready first. */
function useSelection(index: Index, state: Address): Selection | null {
  const last = useRef<Address>({});
  const named = state.run !== undefined || state.worker !== undefined || state.span !== undefined;
  const found = selected(index, named ? state : last.current);
  if (!named && found?.span.state === "ready") {
    last.current = { run: found.run.name, worker: found.worker.name, span: found.span.number };
  }
  return found;
}

/** Announces to screen readers which span was read last. */
function Finished({ index }: { index: Index }) {
  const ready = useRef<ReadonlySet<string> | null>(null);
  const announced = useRef("");
  const now = selections(index).filter(({ span }) => span.state === "ready");
  const fresh = ready.current && now.filter(({ span }) => !ready.current!.has(span.id)).at(-1);
  if (fresh) announced.current = `${fresh.run.name}, ${fresh.worker.name}, span ${fresh.span.number} is read.`;
  ready.current = new Set(now.map(({ span }) => span.id));
  return (
    <p class="visually-hidden" role="status">
      {announced.current}
    </p>
  );
}

const ALL_RUNS = laterView(async () => (await import("../views/runs/runs")).Runs);

/** All runs of the log directory, in place of a view. This part of the tab is loaded when it is opened. */
function AllRuns({ lines, tab, source }: { lines: Requested<RunsPage>; tab: Tab; source: Source }) {
  const { index } = tab;
  const request = withPart<RunsPage>(lines, usePartOf("runs", ALL_RUNS, source.cache));
  const { answer, again } = request;
  const Runs = ALL_RUNS.now();
  if (answer?.kind === "ready" && Runs)
    return (
      <Runs page={answer.value} tab={tab}>
        <Gone source={source} />
      </Runs>
    );
  const failed = failureOf(request);
  return (
    <main id={CONTENT} class="wide" data-state={failed ? "failed" : "reading"} tabIndex={-1}>
      {failed ? (
        <Failed title="The runs could not be loaded." {...failed} about="" again={again} />
      ) : (
        <Opening title="Opening all runs" reads={`Reading the summaries of ${counted(index.runs.length, "run")}.`} />
      )}
    </main>
  );
}

/**
 * The table takes the server seconds for more runs than this: then it is requested only where something shown needs it.
 */
const AT_ONCE_RUNS = 100;

/** Views that open with runs of the same work. */
const NEEDED: readonly ViewId[] = ["compare", "trends"];

interface Wanted {
  view: ViewId;
  /** All runs are shown, or two are compared. */
  several: boolean;
  /** The page that was opened has arrived. */
  opened: boolean;
}

/**
 * The table of all runs, which says which of them compute the same: requested once the page that was opened is there,
 * again until every row is complete, and when the index has changed.
 */
function useLines({ view, several, opened }: Wanted, index: Index, { client, cache }: Source): Requested<RunsPage> {
  const before = cache.get("runs") as Answer<RunsPage> | undefined;
  const left = before?.kind === "ready" ? before.value.left : 0;
  const needed = several || NEEDED.includes(view) || (opened && index.runs.length <= AT_ONCE_RUNS);
  const name = client.runs && index.runs.length > 1 && needed ? "runs" : null;
  return useAnswer(cache, name, `${index.version} ${left}`, (signal) => client.runs!(signal));
}

const UNKNOWN: Works = new Map();

/**
 * Null until it is known for the open run. It then stays the same until all rows are complete, so that what is drawn of
 * runs of the same work does not change with each of them. Where no answer arrives, nothing is known.
 */
function useWorks(request: Requested<RunsPage>, run: string | undefined, can: boolean): Works | null {
  const page = request.answer?.kind === "ready" ? request.answer.value : null;
  const now = useMemo(() => page && worksOf(page.lines), [page]);
  const last = useRef<Works | null>(null);
  if (page && now && (page.left === 0 || (last.current === null && now.has(run ?? "")))) last.current = now;
  return last.current ?? (!can || failureOf(request) ? UNKNOWN : null);
}

/** Makes Compare open with a pair of the same work, as if the address named it. */
function useUsualPair(tab: Tab, view: ViewId, chosen: Selection | null): Tab {
  const { index, state, works, written_ms } = tab;
  const open = view === "compare" && state.with === undefined && written_ms === undefined && chosen !== null;
  const base = open ? usualBase(index, chosen, works) : null;
  const key = base && compareKey(base);
  const paired = useMemo(() => (key === null ? state : { ...state, with: key }), [state, key]);
  return { ...tab, state: paired, paired: key !== null };
}
