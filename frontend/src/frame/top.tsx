/** The top of every view: what is true, what to do about it, how far to trust it. */

import type { ComponentChildren } from "preact";
import type { Headline, Note as NoteText } from "../api.gen";
import { Code } from "../components/code";
import { Note, Notes } from "../components/note";
import { Sentence } from "../components/sentence";
import { isViewId } from "../views";
import type { Tab } from "../views/props";

interface TopProps {
  headline: Headline;
  /** What a simulator says of its figures; null: they are recorded. */
  simulated: string | null;
  notes: readonly NoteText[];
  tab: Tab;
  children?: ComponentChildren;
}

export function Top({ headline, simulated, notes, tab, children }: TopProps) {
  return (
    <>
      <Verdict headline={headline} tab={tab} />
      {children}
      {simulated !== null && <Note cause="Simulated, not recorded.">{simulated}</Note>}
      <Notes notes={notes} />
    </>
  );
}

function Verdict({ headline: { verdict, action, view, code }, tab }: { headline: Headline; tab: Tab }) {
  const coded = code !== null;
  const leads = isViewId(view ?? undefined) ? view : null;
  const deed = action && <p><Sentence phrase={action} /></p>;
  return (
    <section class={coded ? "verdict coded" : "verdict"}>
      <div>
        <h1><Sentence phrase={verdict} /></h1>
        {!coded && deed}
      </div>
      {coded && <Code text={code} />}
      {coded && deed}
      {!coded && leads && <button class="button" onClick={() => tab.update({ view: leads })}>Open {tab.meanings.viewTitle(leads)}</button>}
    </section>
  );
}
