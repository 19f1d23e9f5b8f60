/** The top of every view: what is true, what to do about it, how far to trust it. */

import type { ComponentChildren } from "preact";
import { rangeInTimeline, WHOLE_RECORDING } from "../address/selection";
import { shortNames } from "../address/short_names";
import type { FindingText, Headline, Index, JobText, NoteText } from "../api.gen";
import { type About, AboutContext, footOf } from "../components/about";
import { Code } from "../components/copy";
import { Note, Notes, Quality } from "../components/note";
import { Details, Sentence } from "../components/sentence";
import { hint } from "../dom/hint";
import { sentence } from "../phrase";
import { isViewId } from "../views";
import type { Tab } from "../views/props";

interface TopProps {
  /** The kind of job, where there is one. */
  job?: JobText;
  headline: Headline;
  /** What a simulator states about its figures; null: they are recorded. */
  simulated?: string | null;
  /** Others of the runs that are shown are recorded. */
  partly?: boolean;
  notes?: readonly NoteText[];
  quality?: readonly FindingText[];
  /** Shown under the headline in place of what to do first. */
  second?: ComponentChildren;
  tab: Tab;
}

export function Top(props: TopProps) {
  const { job, headline, simulated = null, partly = false, notes = [], quality = [], second, tab } = props;
  const simulatedNoted = notes.some((note) => note.id === SIMULATED);
  const above = Number(simulated !== null && !simulatedNoted);
  return (
    <>
      {job && <Job job={job} />}
      <Verdict headline={headline} second={second} tab={tab} />
      <Quality findings={quality} show={(range) => tab.update(rangeInTimeline(range))} />
      {above > 0 && (
        <Note cause={partly ? "Some of these runs are simulated, not recorded." : "Simulated, not recorded."}>
          <Details text={simulated} />
        </Note>
      )}
      <Notes notes={simulatedFirst(notes)} actions={stepActions(tab)} above={above} />
    </>
  );
}

/** Buttons that switch between inferred steps and the recording as one step, at the notes that say which is shown. */
function stepActions(tab: Tab) {
  const show = (steps: string | null, label: string) => (
    <button class="link" onClick={() => tab.update({ steps, step: null, zoom: null, event: null })}>
      {label}
    </button>
  );
  if (tab.state.steps !== WHOLE_RECORDING) {
    const whole = show(WHOLE_RECORDING, "Show the whole recording as one step");
    return { inferred_steps: whole, recordings_as_steps: whole };
  }
  const back = show(null, "Show steps");
  return { no_steps: back, whole_recording: back };
}

/** The id of the note by which the analysis itself says so. */
const SIMULATED = "simulated";

/** Puts the note about simulation first: it must not be folded away behind lesser ones. */
function simulatedFirst(notes: readonly NoteText[]): readonly NoteText[] {
  return [...notes].sort((a, b) => Number(b.id === SIMULATED) - Number(a.id === SIMULATED));
}

/** "Training · eager · NVIDIA A100 · rank 0 of 8", with the evidence for it on hover. */
function Job({ job }: { job: JobText }) {
  const line = sentence(job.line);
  const shownBy = job.shown_by.map((each) => sentence(each)).join("\n");
  return line === "" ? null : (
    <p class="job" {...hint(shownBy)}>
      {line}
    </p>
  );
}

interface VerdictProps extends Pick<TopProps, "headline" | "second" | "tab"> {}

function Verdict({ headline: { verdict, action, view, code, basis }, second, tab }: VerdictProps) {
  const leads = isViewId(view ?? undefined) ? view : null;
  const below =
    second ||
    (action && (
      <p>
        <Sentence phrase={action} terms />
        {leads && (
          <button class="link" onClick={() => tab.update({ view: leads })}>
            Open {tab.meanings.viewTitle(leads)}
          </button>
        )}
        <Details text={basis} />
      </p>
    ));
  return (
    <section class="verdict">
      <div>
        <h1>
          <Sentence phrase={verdict} terms />
        </h1>
        {!below && <Details text={basis} />}
      </div>
      {code !== null && <Code text={code} />}
      {below}
    </section>
  );
}

/** A view with what its pictures are about. On paper there is no bar that says it: then its foot does. */
export const WithFoot = ({ about, children }: { about: About; children: ComponentChildren }) => (
  <AboutContext.Provider value={about}>
    {children}
    <p class="printed">{footOf(about)}</p>
  </AboutContext.Provider>
);

const MOST_NAMED = 6;

/** Names the simulated runs in a picture of many. among: the runs that the picture shows. */
export function simulatedRuns({ runs }: Index, among: readonly string[]): Pick<TopProps, "simulated" | "partly"> {
  const shown = runs.filter(({ name }) => among.includes(name));
  const labels = shortNames(shown.map(({ name }) => name));
  const names = shown.filter(({ simulated }) => simulated).map(({ name }) => labels.get(name)!);
  const more = names.length - MOST_NAMED;
  if (names.length === 0) return { simulated: null };
  const rest = more > 0 ? ` and ${more} more` : "";
  return {
    simulated: `These runs come from a simulator: ${names.slice(0, MOST_NAMED).join(", ")}${rest}.`,
    partly: names.length < shown.length,
  };
}

/** The first stop of the Tab key: skips the bar and the list of views. It is visible while it has the focus. */
export const CONTENT = "content";

export function SkipLink() {
  const skip = (event: MouseEvent) => {
    event.preventDefault(); // the fragment of the address belongs to TensorBoard
    document.getElementById(CONTENT)?.focus();
  };
  return (
    <a class="skip button" href={`#${CONTENT}`} onClick={skip}>
      Skip to the content
    </a>
  );
}
