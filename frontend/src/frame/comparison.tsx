/** Which two spans a view shows, how each is called in it, and what keeps them from being compared. */

import type { ComponentChildren } from "preact";
import { compareKey, keysOf, namesIn, type Selection } from "../address/selection";
import type { PageOf, ViewId } from "../api.gen";
import { Note } from "../components/note";
import type { Answer } from "../server/client";
import { TimelineComparison } from "../views/compare/timeline";
import type { Compared, Names, Tab } from "../views/props";
import { stepAt } from "../views/timeline/data/steps";
import { differing } from "./comparable";

/** A comparison that the address asks for, whether the other span's page is there or not. */
export interface Comparison extends Names {
  chosen: Selection;
  other: Selection;
  compared: Compared<ViewId> | null;
  answer: Answer<unknown> | null;
}

interface ComparisonBarProps {
  comparison: Comparison;
  view: ViewId;
  page: PageOf<ViewId>;
  tab: Tab;
}

export function ComparisonBar({ comparison, view, page, tab }: ComparisonBarProps) {
  const { own, name, chosen, other, compared } = comparison;
  const differences = compared ? differing(page.head, compared.page.head, comparison) : [];
  return (
    <>
      <PairLine {...{ own, name, chosen, other, tab }}>{stateOf(comparison)}</PairLine>
      {differences.length > 0 && <Note cause="These two are not alike.">{differences.join(" ")}</Note>}
      {compared && view === "timeline" && <OneTimeline {...{ comparison, page, tab }} />}
    </>
  );
}

interface PairLineProps extends Names {
  chosen: Selection;
  other: Selection;
  tab: Pick<Tab, "update">;
  /** What follows their names, to the full stop. */
  children: ComponentChildren;
}

/** Which two there are, and what to do about that. */
export function PairLine({ own, name, chosen, other, tab, children }: PairLineProps) {
  return (
    <section class="comparison" aria-label="Comparison">
      <span>
        <b>{own}</b>
        {placed(chosen)} compared with <b>{name}</b>
        {placed(other)}
        {children}
      </span>
      <span class="push">
        <button class="link" onClick={() => tab.update({ ...keysOf(other), with: compareKey(chosen) })}>
          Swap
        </button>
        <button class="link" onClick={() => tab.update({ with: null })}>
          End the comparison
        </button>
      </span>
    </section>
  );
}

const placed = (selection: Selection): string => {
  const place = namesIn(selection);
  return place.length === 0 ? "" : ` (${place.join(", ")})`;
};

function OneTimeline({ comparison: { chosen, other, compared }, page, tab }: Omit<ComparisonBarProps, "view">) {
  const { result } = page as PageOf<"timeline">;
  return (
    <TimelineComparison
      result={result}
      compared={compared as Compared<"timeline">}
      at={stepAt(result, tab.state, null, page.shown_step)}
      open={(step) => tab.update({ ...keysOf(other), with: compareKey(chosen), step })}
    />
  );
}

function stateOf({ name, own, compared, answer }: Comparison): string {
  if (answer?.kind === "problem") return `: ${name} could not be analysed, so only ${own} is shown`;
  if (!compared) return `: ${name} is not read yet`;
  return `. First figure and bar: ${own}. Differences: ${own} less ${name}.`;
}
