/** The two spans that a view shows, what each is called in it, and what prevents a comparison. */

import type { ComponentChildren } from "preact";
import { compareKey, endOfComparison, keysOf, namesIn, type Selection } from "../address/selection";
import type { PageOf, SpanHead, TimelineResult, ViewId } from "../api.gen";
import { Note } from "../components/note";
import { Details } from "../components/sentence";
import { textOf } from "../components/waiting";
import { counted, scaleFor } from "../format";
import type { Failure } from "../server/use_answer";
import { signed } from "../views/compare/difference";
import type { Compared, Names, Tab } from "../views/props";
import { stepAt, stepOrWhole } from "../views/timeline/data/steps";
import { sameWork } from "../views/works";

/** A comparison that the address requests, whether the other span's page has arrived or not. */
export interface Comparison extends Names {
  chosen: Selection;
  other: Selection;
  compared: Compared<ViewId> | null;
  /** Why the other span's page is not there. */
  failed: Failure | null;
}

/** A comparison whose spans were checked against each other, with the sentences that say how they differ in kind. */
interface Weighed extends Comparison {
  differences: readonly string[];
}

/** Nothing is drawn of two unlike spans until the reader asks for it; then each has its own axis. */
export function weighed(comparison: Comparison, head: SpanHead, { state, works }: Tab): Weighed {
  const { compared, chosen, other } = comparison;
  if (!compared) return { ...comparison, differences: [] };
  const found = differing(head, compared.page.head, comparison);
  const otherWork = sameWork(works, chosen.run.name, other.run.name) === false;
  const differences = otherWork && found.length === 0 ? [OTHER_WORK] : found;
  const unlike = differences.length > 0;
  const drawn = !unlike || state.anyway === compareKey(other);
  return { ...comparison, differences, compared: drawn ? { ...compared, unlike } : null };
}

const OTHER_WORK = "They do not compute the same: other ops, other kernels or other shapes.";

interface ComparisonBarProps {
  comparison: Weighed;
  view: ViewId;
  page: PageOf<ViewId>;
  tab: Tab;
}

export function ComparisonBar({ comparison, view, page, tab }: ComparisonBarProps) {
  const { own, name, chosen, other, compared, differences } = comparison;
  return (
    <>
      <PairLine {...{ chosen, other, tab }}>
        <b>{own}</b>
        {placed(chosen)} compared with <b>{name}</b>
        {placed(other)}
        {stateOf(comparison)}
      </PairLine>
      {differences.length > 0 && (
        <Note cause={NOT_ALIKE}>
          {differences.join(" ")} {!compared && <Anyway other={other} tab={tab} />}
        </Note>
      )}
      {compared && view === "timeline" && <OneTimeline {...{ comparison, page, tab }} />}
    </>
  );
}

const NOT_ALIKE = "These two are not alike.";

/** Draws the comparison although the spans are not alike. */
export function Anyway({ other, tab }: { other: Selection; tab: Pick<Tab, "update"> }) {
  return (
    <button class="link" onClick={() => tab.update({ anyway: compareKey(other) })}>
      Compare them all the same
    </button>
  );
}

interface PairLineProps {
  chosen: Selection;
  other: Selection;
  tab: Pick<Tab, "state" | "update">;
  /** What is said of the two. */
  children: ComponentChildren;
}

export function PairLine({ chosen, other, tab, children }: PairLineProps) {
  return (
    <section class="comparison" aria-label="Comparison">
      <span>{children}</span>
      <span class="push">
        <button class="link" onClick={() => tab.update({ ...keysOf(other), with: compareKey(chosen) })}>
          Swap
        </button>
        <button class="link" onClick={() => tab.update(endOfComparison(tab.state))}>
          End the comparison
        </button>
      </span>
    </section>
  );
}

export const placed = (selection: Selection): string => {
  const place = namesIn(selection);
  return place.length === 0 ? "" : ` (${place.join(", ")})`;
};

/** Why the Timeline shows only one span of a comparison, and how long its step is in both. */
function OneTimeline({ comparison: { chosen, other, compared }, page, tab }: Omit<ComparisonBarProps, "view">) {
  const { result } = page as PageOf<"timeline">;
  const { name, own, page: others } = compared as Compared<"timeline">;
  const here = stepOrWhole(result, stepAt(result, tab.state, null, page.shown_step));
  const there = others.result.steps.find((step) => step.name === here.name) ?? null;
  const open = () => tab.update({ ...keysOf(other), with: compareKey(chosen), step: there?.name ?? null });
  return (
    <p class="quiet small aside">
      The Timeline draws one span at a time: this is {own}. {there && lengths(here, there, name)}{" "}
      <button class="link" onClick={open}>
        {there ? `Open step ${there.name} of ${name}` : `Open ${name}`}
      </button>
    </p>
  );
}

function stateOf({ name, own, compared, failed, differences }: Weighed): ComponentChildren {
  if (compared) return `. First figure and bar: ${own}. Differences: ${own} less ${name}.`;
  if (!failed) return differences.length > 0 ? "" : `: ${name} is not read yet`;
  return (
    <>
      : {name} could not be {failed.problem.file ? "analysed" : "loaded"}, so only {own} is shown
      <Details text={textOf(failed.problem)} />
    </>
  );
}

/** One sentence per difference; none: the two are alike. */
export function differing(own: SpanHead, other: SpanHead, names: Names): string[] {
  return [byMachine, byCount, byRanks, bySteps, bySimulation].flatMap((found) => found(own, other, names) ?? []);
}

type Difference = (own: SpanHead, other: SpanHead, names: Names) => string | null;

const models = ({ device_names: names }: SpanHead): string => [...new Set(names)].sort().join(" and ");

const byMachine: Difference = (own, other, { own: a, name: b }) => {
  const [here, there] = [models(own), models(other)];
  if (here === there) return null;
  if (here === "" || there === "") {
    const [on, off] = here === "" ? [b, a] : [a, b];
    return (
      `Only ${on} recorded a GPU, ${off} recorded the CPU alone: ` +
      "a step is not the same work for the CPU, and figures of the GPU have no counterpart."
    );
  }
  return `${a} ran on ${here}, ${b} on ${there}: times differ for that reason too.`;
};

const byCount: Difference = ({ device_names: own }, { device_names: other }, { own: a, name: b }) =>
  own.length === other.length || own.length === 0 || other.length === 0
    ? null
    : `${a} records ${counted(own.length, "GPU")}, ${b} ${counted(other.length, "GPU")}.`;

const byRanks: Difference = ({ world_size: own }, { world_size: other }, { own: a, name: b }) =>
  (own ?? 1) === (other ?? 1)
    ? null
    : `${a} has ${counted(own ?? 1, "rank")}, ${b} ${counted(other ?? 1, "rank")}: a step may hold another batch.`;

const STEPS = {
  marks: "marked by the profiler",
  inferred: "inferred from repeated calls",
  recording: "whole recordings",
} as const;

const bySteps: Difference = ({ steps_by: own }, { steps_by: other }, { own: a, name: b }) =>
  own === other
    ? null
    : `Steps of ${a} are ${STEPS[own]}, those of ${b} are ${STEPS[other]}: a step may not be the same work.`;

const bySimulation: Difference = ({ simulated: own }, { simulated: other }, { own: a, name: b }) => {
  if ((own === null) === (other === null)) return null;
  const [made, recorded] = own === null ? [b, a] : [a, b];
  return `${made} is simulated, ${recorded} is recorded.`;
};

type Lasts = TimelineResult["steps"][number];

function lengths(here: Lasts, there: Lasts, name: string): string {
  const [own, other] = [here.end_ns - here.start_ns, there.end_ns - there.start_ns];
  const scale = scaleFor(Math.max(own, other), "ns");
  return `Step ${here.name} takes ${scale.text(own)}, in ${name} ${scale.text(other)} (${signed(own - other, scale)}).`;
}
