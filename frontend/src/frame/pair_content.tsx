/** Compare, with its headline above it: loaded together with the view. */

import type { ComponentType } from "preact";
import { compareKey, namesApart, type Selection } from "../address/selection";
import type { ComparePage, Headline, Index, Phrase } from "../api.gen";
import { aboutRuns } from "../components/about";
import { Details, Remark } from "../components/sentence";
import { VIEWS } from "../views";
import { chainRuns } from "../views/compare/chain_runs";
import type { Names, PairViewProps, Tab } from "../views/props";
import { usualBase } from "../views/works";
import { Anyway, PairLine, placed } from "./comparison";
import { NotReady } from "./not_ready";
import type { PairRequests } from "./pair";
import { simulatedRuns, Top, WithFoot } from "./top";

interface PairContentProps {
  pair: PairRequests;
  chosen: Selection;
  tab: Tab;
  again(): void;
}

export function PairContent({ pair, chosen, tab, again }: PairContentProps) {
  const { other, request, chain, waits } = pair;
  const View = VIEWS.compare.part.now() as ComponentType<PairViewProps>;
  const unknown = other === null && tab.works === null && tab.state.with === undefined && tab.written_ms === undefined;
  if (unknown)
    return <NotReady view="compare" request={{ ...request, answer: null }} selection={waits} tab={tab} again={again} />;
  const shown = { chosen, base: other, chain, tab };
  const { answer } = request;
  if (other === null || answer?.kind !== "ready")
    return (
      <>
        {other === null ? (
          <Top headline={headlineOf(nothingYet(tab.index), whyAlone(chosen, tab))} tab={tab} />
        ) : (
          <NotReady view="compare" request={request} selection={waits} tab={tab} again={again} />
        )}
        <WithFoot about={aboutRuns("compare", chainRuns(tab).runs, tab)}>
          <View {...shown} pair={null} />
        </WithFoot>
      </>
    );
  const names = namesApart(chosen, other);
  const found = answer.value;
  const runs = [other.run.name, chosen.run.name];
  const unlike = isUnlike(found);
  const asks = unlike && tab.state.anyway !== compareKey(other);
  // the line below the headline says so
  const few = found.comparison.step.distinguishable === null && found.warnings.find(({ id }) => id === "few_steps");
  return (
    <>
      <Top
        headline={headlineOf(
          named(found.headline, names),
          found.below && named(found.below, names),
          few ? few.effect : null,
        )}
        {...simulatedRuns(tab.index, runs)}
        notes={found.warnings
          .filter((note) => note !== few)
          .map((note) => ({ ...note, effect: shortened(note.effect, found, names) }))}
        tab={tab}
      />
      <PairLine chosen={chosen} other={other} tab={tab}>
        {asks ? (
          <>
            <Anyway other={other} tab={tab} />
            <Alike chosen={chosen} tab={tab} />
          </>
        ) : (
          `Changes: ${names.own} less ${names.name}${tab.paired ? whyPaired(chosen, other) : ""}`
        )}
        <Details text={placesText(found, names, chosen, other) + (unlike ? " Each bar has an axis of its own." : "")} />
      </PairLine>
      <Remark phrase={found.scaling} terms />
      <WithFoot about={aboutRuns("compare", runs, tab)}>
        <View {...shown} pair={asks ? null : { ...names, found, unlike }} />
      </WithFoot>
    </>
  );
}

/** Jobs with different numbers of ranks are compared nevertheless: the comparison states how they scale. */
const isUnlike = ({ comparison, scaling }: ComparePage): boolean => !comparison.same_work && scaling === null;

/** Links to a run of the same work, where there is one. */
function Alike({ chosen, tab }: { chosen: Selection; tab: Tab }) {
  const base = usualBase(tab.index, chosen, tab.works);
  return (
    base && (
      <>
        {" or "}
        <button class="link" onClick={() => tab.update({ with: compareKey(base) })}>
          {`with ${namesApart(chosen, base).name}, which does the same`}
        </button>
      </>
    )
  );
}

/** Says how `usualBase` found the other run, of which the reader chose none. */
const whyPaired = ({ span: own }: Selection, { span }: Selection): string =>
  `, the ${span.recorded_ns <= own.recorded_ns ? "last run before" : "first run after"} it that does the same work. ` +
  "Choose another under “Compare with”.";

/** What is compared of the two. All spans of a worker count together. */
function placesText(
  { base, candidate }: ComparePage,
  { own, name }: Names,
  chosen: Selection,
  other: Selection,
): string {
  const [before, after] = [base.spans.length, candidate.spans.length];
  return before === 1 && after === 1
    ? `${own}${placed(chosen)} less ${name}${placed(other)}.`
    : `${own} less ${name}, over all spans that are read: ${after} and ${before}.`;
}

const headlineOf = (verdict: Phrase, action: Phrase | null = null, basis: Phrase | null = null): Headline => ({
  verdict,
  action,
  view: null,
  code: null,
  basis,
  card: null,
});

/** Replaces the names in a phrase by those that the tab uses for the two. */
export const named = ({ template, values }: Phrase, { name, own }: Names): Phrase => ({
  template,
  values: { ...values, base: { value: name, unit: "text" }, candidate: { value: own, unit: "text" } },
});

/** The same in a note, which names one run. */
function shortened(phrase: Phrase, { comparison: { base, candidate } }: ComparePage, names: Names): Phrase {
  const { run } = phrase.values;
  if (run === undefined || base === candidate) return phrase;
  const name = run.value === base ? names.name : run.value === candidate ? names.own : run.value;
  return { ...phrase, values: { ...phrase.values, run: { ...run, value: name } } };
}

/**
 * Says why Compare chose no other run itself; null where the reader ended the comparison, there is no other run, or the
 * list that says what runs compute could not be loaded.
 */
const whyAlone = ({ run }: Selection, { index, state, works }: Tab): Phrase | null =>
  index.runs.length > 1 && state.with === undefined && works?.size
    ? {
        template: "No other run is known to do the same work as {run}.",
        values: { run: { value: run.name, unit: "text" } },
      }
    : null;

function nothingYet({ spans_total }: Index): Phrase {
  const template =
    spans_total > 1
      ? "Choose two experiments to compare."
      : "There is only one recording, so there is nothing to compare it with.";
  return { template, values: {} };
}
