/** Ranks: the ranks of the job that the chosen span is of. */

import type { ComponentType } from "preact";
import { useRef } from "preact/hooks";
import type { Selection } from "../address/selection";
import type { Index, RanksPage } from "../api.gen";
import { AboutContext, aboutRuns } from "../components/about";
import { type Asked, type Source, useAnswer } from "../server/use_answer";
import { VIEWS } from "../views";
import type { RanksViewProps } from "../views/props";
import { type AnsweredProps, NotReady } from "./not_ready";
import { PrintedFoot, Top } from "./top";

/** Another rank of the same job has the same answer. */
export function useJob(on: boolean, chosen: Selection, index: Index, { client, cache }: Source): Asked<RanksPage> {
  const last = useRef<{ name: string; spans: readonly string[] } | null>(null);
  const { id } = chosen.span;
  const name = last.current?.spans.includes(id) ? last.current.name : `ranks ${id}`;
  const asked = useAnswer(cache, on ? name : null, versionOf(index, chosen), (signal) => client.ranks(id, signal));
  if (asked.answer?.kind === "ready") last.current = { name, spans: asked.answer.value.spans };
  return asked;
}

/** Each rank that is read changes the answer: with many, not each of them is worth another one. */
function versionOf(index: Index, { run }: Selection): string {
  const spans = run.workers.flatMap((worker) => worker.spans);
  const ready = spans.filter(({ state }) => state === "ready").length;
  const pace = ready < spans.length ? Math.max(1, Math.floor(ready / READ_BETWEEN)) : 1;
  return `${Math.floor(ready / pace)} ${ready === spans.length} ${index.spans_total}`;
}

/** The answer is asked for again when so much more of it is there: a tenth. */
const READ_BETWEEN = 10;

export function JobContent({ view, asked, selection, tab, again }: AnsweredProps<RanksPage>) {
  const { answer } = asked;
  if (answer?.kind !== "ready")
    return <NotReady view={view} asked={asked} selection={selection} tab={tab} again={again} />;
  const page = answer.value;
  const View = VIEWS[view].part.now() as ComponentType<RanksViewProps>;
  return (
    <>
      <Top job={null} headline={page.headline} simulated={page.simulated} notes={page.notes} tab={tab} />
      <AboutContext.Provider value={aboutRuns(view, [selection.run.name], tab)}>
        <View page={page} chosen={selection} tab={tab} />
        <PrintedFoot />
      </AboutContext.Provider>
    </>
  );
}
