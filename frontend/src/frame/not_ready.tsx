/** Shown in place of a view until its page arrives: what is being read for it, or why it does not arrive. */

import type { Selection } from "../address/selection";
import type { Problem, ViewId, Waiting } from "../api.gen";
import { Late } from "../components/waiting";
import { bytes, counted } from "../format";
import { isFinal } from "../server/recorded";
import type { Requested } from "../server/use_answer";
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
export function NotReady({ view, request: { answer, trouble }, selection, tab, again }: AnsweredProps<unknown>) {
  if (trouble) {
    return (
      <Failed title="The figures could not be loaded." {...trouble} about={aboutOf(selection, tab)} again={again} />
    );
  }
  if (answer?.kind === "problem") {
    if (isFinal(answer.value)) return <NotHeld problem={answer.value} />;
    return (
      <Failed
        title="This trace could not be analysed."
        problem={answer.value}
        about={aboutOf(selection, tab)}
        again={again}
      />
    );
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
  const title = meanings.viewTitle(view);
  if (VIEWS[view].of === "spans") {
    const shown = state.runs?.length || index.runs.length;
    return { title: `Opening ${title}`, reads: `Reading the summaries of ${counted(shown, "run")}.` };
  }
  return {
    title: `Opening ${title} of ${placeOf(worker)} of ${run.name}`,
    reads: `Reading the summary of a trace of ${bytes(span.file_bytes)}.`,
  };
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
