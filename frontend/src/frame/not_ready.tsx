/** Shown in place of a view until its page arrives: what is being read for it, or why it does not arrive. */

import type { Selection } from "../address/selection";
import type { Problem, ViewId, Waiting } from "../api.gen";
import { Late } from "../components/waiting";
import { bytes, counted } from "../format";
import { isFinal } from "../server/recorded";
import { failureOf, type Requested } from "../server/use_answer";
import { Failed, Opening, Reading } from "../states/states";
import { VIEWS } from "../views";
import type { Tab } from "../views/props";

export interface AnsweredProps<T> {
  view: ViewId;
  request: Requested<T>;
  selection: Selection;
  tab: Tab;
  again(): void;
}

/** Shows trouble and problems at once; a delay only after a while. */
export function NotReady({ view, request, selection, tab, again }: AnsweredProps<unknown>) {
  const { answer } = request;
  const failed = failureOf(request);
  if (failed) {
    if (isFinal(failed.problem)) return <NotHeld problem={failed.problem} />;
    const title = failed.problem.file ? "This trace could not be analysed." : "The figures could not be loaded.";
    return <Failed title={title} {...failed} about={aboutOf(selection, tab)} again={again} />;
  }
  return (
    <Late meanwhile={<h1 class="visually-hidden">Opening.</h1>}>
      {answer === null && (["spans", "job"].includes(VIEWS[view].of) || selection.span.state === "ready") ? (
        <Opening {...openingOf(view, selection, tab)} />
      ) : (
        <ReadingSpan view={view} waiting={answer?.kind === "waiting" ? answer.value : null} {...{ selection, tab }} />
      )}
    </Late>
  );
}

/** A report has no answer to this, which is not a failure. */
function NotHeld({ problem: { problem, hint } }: { problem: Problem }) {
  return (
    <>
      <h1 class="title">{problem}.</h1>
      <p class="quiet">{hint}</p>
    </>
  );
}

/** Everything has been read, and only its summaries have to be opened. */
function openingOf(view: ViewId, { run, worker, span }: Selection, { meanings, index, state }: Tab) {
  const title = `Opening ${meanings.viewTitle(view)}`;
  const { of } = VIEWS[view];
  if (of === "job") return { title: `${title} of ${run.name}`, reads: "Reading the summary of each rank." };
  if (of === "pair" && state.with !== undefined) return { title, reads: "Reading the summaries of both runs." };
  if (of === "span")
    return {
      title: `${title} of ${placeOf(worker)} of ${run.name}`,
      reads: `Reading the summary of a trace of ${bytes(span.file_bytes)}.`,
    };
  const shown = (of === "spans" && state.runs?.length) || index.runs.length;
  return { title, reads: `Reading the summaries of ${counted(shown, "run")}.` };
}

const placeOf = ({ rank, name }: Selection["worker"]): string => (rank === null ? name : `rank ${rank}`);

interface ReadingSpanProps {
  view: ViewId;
  waiting: Waiting | null;
  selection: Selection;
  tab: Tab;
}

function ReadingSpan({ view, waiting, selection: { worker, span, run }, tab }: ReadingSpanProps) {
  const { views } = tab.meanings;
  const tiles = (views.find(({ id }) => id === view) ?? views[0])?.tiles ?? [];
  return (
    <Reading
      name={worker.spans.length > 1 ? `${placeOf(worker)}, span ${span.number}` : `${placeOf(worker)} of ${run.name}`}
      waiting={waiting && { ...waiting, progress: span.progress ?? waiting.progress }}
      fileBytes={span.file_bytes}
      tiles={tiles.map((id) => tab.meanings.metric(id).label)}
      ready={tab.index.spans_ready}
    />
  );
}

export function aboutOf({ run, worker, span }: Selection, tab: Tab): string {
  return (
    `Run ${run.name}, worker ${worker.name}, span ${span.number}, ${span.file_bytes} bytes. Step ` +
    `Insights ${tab.meanings.version}.`
  );
}
