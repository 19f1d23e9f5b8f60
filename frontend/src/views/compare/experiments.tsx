/** The chain of experiments: how each changed against the previous one and the first. A click compares one. */

import { useState } from "preact/hooks";
import { compareKey, keysOf, type Selection, selections, workerLabels } from "../../address/selection";
import { shortNames } from "../../address/short_names";
import type { ChainPage, LinkOfChain, StepChange } from "../../api.gen";
import { Note } from "../../components/note";
import { Section } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { NotYet, textOf } from "../../components/waiting";
import { DASH, type Scale } from "../../format";
import { grouped } from "../../lists";
import { failureOf, type Requested } from "../../server/use_answer";
import { readingOf, sorting } from "../choices";
import type { Tab } from "../props";
import { figureColumn } from "../table_picture";
import { ChainPicture } from "./chain_picture";
import { chainRuns, type Experiment } from "./chain_runs";
import { changeOf, intervalText, type StepScales, signed, stepScales } from "./difference";

interface ExperimentsProps {
  chosen: Selection;
  base: Selection | null;
  request: Requested<ChainPage>;
  tab: Tab;
}

export function Experiments({ chosen, base, request, tab }: ExperimentsProps) {
  const { answer } = request;
  const order = useOrder(tab);
  if (answer?.kind !== "ready") {
    const failed = failureOf(request);
    if (failed === null) return <NotYet problem={null} reads="Reading the summaries of all runs." />;
    return <Note cause="The experiments could not be loaded.">{textOf(failed.problem)}</Note>;
  }
  const all = experimentsOf(answer.value, chosen, base, tab);
  if (all.length < 2) return base === null ? <TooFew found={all.length} /> : null;
  const { said } = chainRuns(tab);
  const actions = actionsOf(all, chosen, base, tab);
  const groups = groupsOf(all, chosen);
  const concerned = (group: readonly Experiment[]) => base === null || group.some(({ role }) => role !== "");
  const canMove = tab.written_ms === undefined; // a report contains only the changes between neighbours
  const drawn = groups.filter((group) => group.length > 1 && concerned(group));
  const table = <ExperimentTable all={all} {...actions} tab={tab} />;
  return (
    <>
      {base === null && table}
      {groups.every((group) => group.length < 2) && (
        <p class="quiet">No two runs here compute the same, so none gained against another one.</p>
      )}
      {groups.map(
        (group, at) =>
          drawn.includes(group) && (
            <ChainPicture
              key={at}
              title={titleOf(drawn, group)}
              order={group === drawn[0] ? said : null}
              group={group}
              choose={actions.candidate}
              move={canMove ? (from, to) => order.move(groups, at, from, to) : undefined}
              tab={tab}
            />
          ),
      )}
      {canMove && drawn.length > 0 && <Order order={order} own={tab.state.order !== undefined} />}
      {base !== null && table}
    </>
  );
}

/** The order in the address: of all experiments, recorded ones before simulated ones. */
function useOrder(tab: Tab) {
  const [message, setSaid] = useState("");
  return {
    said: message,
    move(groups: readonly (readonly Experiment[])[], of: number, from: number, to: number) {
      const group = groups[of]!;
      const next = groups.map((each) => (each === group ? movedTo(group, from, to) : each));
      tab.update({ order: next.flat().map((each) => each.of.run) });
      setSaid(`${group[from]!.name} is at place ${to + 1} of ${group.length}.`);
    },
    asRecorded() {
      tab.update({ order: null });
      setSaid("The experiments stand as they were recorded.");
    },
  };
}

function Order({ order, own }: { order: ReturnType<typeof useOrder>; own: boolean }) {
  return (
    <p class="small">
      {own && (
        <button class="link" onClick={order.asRecorded}>
          Order as recorded
        </button>
      )}
      <span class="visually-hidden" role="status">
        {order.said}
      </span>
    </p>
  );
}

/** Of one kind and with the same work, so that they share an axis; those of the chosen run come first. */
function groupsOf(all: readonly Experiment[], chosen: Selection): readonly (readonly Experiment[])[] {
  const groups = grouped(all, ({ link }) => `${link.simulated} ${link.work}`);
  const holds = (group: readonly Experiment[]) => group.some(({ of }) => of.spans.includes(chosen.span.id));
  return [...groups.values()].sort((a, b) => Number(holds(b)) - Number(holds(a)));
}

function titleOf(drawn: readonly (readonly Experiment[])[], group: readonly Experiment[]): string {
  if (drawn.length < 2) return "Mean steps of the experiments";
  const { simulated } = group[0]!.link;
  const alone = drawn.filter(([first]) => first!.link.simulated === simulated).length < 2;
  return alone
    ? `Mean steps of ${simulated ? "simulated" : "recorded"} experiments`
    : `Mean steps since ${group[0]!.name}`;
}

function TooFew({ found }: { found: number }) {
  return (
    <p class="quiet">
      {found === 0 ? "No recording here is read yet." : "One run is read."} Change one thing in the training script,
      record again into another folder of this log directory, and what it gained stands here.
    </p>
  );
}

/**
 * Names are the shortest within recorded and within simulated experiments. Where a run has several workers, the name
 * says of which the figures are.
 */
function experimentsOf({ links }: ChainPage, chosen: Selection, base: Selection | null, { index }: Tab): Experiment[] {
  const bySpan = new Map(selections(index).map((each) => [each.span.id, each]));
  const holds = ({ of }: LinkOfChain, side: Selection | null) => side !== null && of.spans.includes(side.span.id);
  return [false, true].flatMap((simulated) => {
    const kind = links.filter(({ link }) => link.simulated === simulated);
    const names = shortNames(kind.map(({ of }) => of.run));
    return kind.map((each) => {
      const at = bySpan.get(each.of.spans[0]!) ?? null;
      const workers = at?.run.workers ?? [];
      const worker = workers.length > 1 ? [workerLabels(workers).get(each.of.worker)] : [];
      return {
        ...each,
        name: [names.get(each.of.run), ...worker].join(", "),
        at,
        role: base !== null && holds(each, chosen) ? "candidate" : holds(each, base) ? "base" : "",
      };
    });
  });
}

interface Actions {
  candidate(of: Experiment): void;
  base(of: Experiment): void;
}

/** Where nothing is compared yet, a candidate is compared with the previous experiment of its own kind. */
function actionsOf(all: readonly Experiment[], chosen: Selection, base: Selection | null, tab: Tab): Actions {
  const before = (of: Experiment): Selection | null => {
    const kind = all.filter(({ link }) => link.simulated === of.link.simulated);
    return kind[kind.indexOf(of) - 1]?.at ?? null;
  };
  return {
    candidate(of) {
      if (of.at === null || of.role === "candidate") return;
      const other = of.role === "base" ? chosen : (base ?? before(of));
      tab.update({ ...keysOf(of.at), with: other && compareKey(other) });
    },
    base(of) {
      if (of.at === null || of.role === "base") return;
      const swaps = of.role === "candidate" && base !== null;
      tab.update({ ...keysOf(swaps ? base : chosen), with: compareKey(of.at) });
    },
  };
}

/** Moves the item at `from` to `to`; the others keep their order. */
function movedTo<T>(all: readonly T[], from: number, to: number): readonly T[] {
  const others = all.filter((_, at) => at !== from);
  return [...others.slice(0, to), all[from]!, ...others.slice(to)];
}

function ExperimentTable({ all, tab, ...actions }: Actions & { all: readonly Experiment[]; tab: Tab }) {
  const scales = stepScales(
    all.map(({ link }) => link.step_ns),
    readingOf(tab).unit,
  );
  return (
    <Section title="Which two are compared?" sub={tab.state.order ? "in your order" : "in the order of recording"}>
      <Table
        label="Experiments"
        columns={columnsOf(actions, scales)}
        rows={all}
        rowKey={({ of }) => of.spans.join()}
        maxRows={14}
        {...sorting(tab, "experiments")}
      />
    </Section>
  );
}

function columnsOf(actions: Actions, scales: StepScales): Column<Experiment>[] {
  const change = (id: "from_previous" | "from_first", label: string, meaning: string): Column<Experiment> => ({
    ...{ id, label, meaning, numeric: true, width: "212px" },
    cell: ({ link }) => changeText(link[id], scales.of(link.step_ns)),
    missing: "The first that does this work.",
    order: ({ link }) => link[id] && changeOf(link[id]),
  });
  const choice = (role: "base" | "candidate", label: string): Column<Experiment> => ({
    ...{ id: role, label, width: "92px" },
    order: (each) => Number(each.role !== role),
    cell: (each) => (
      <button
        class="link"
        aria-pressed={each.role === role}
        aria-label={`${each.name} as ${role}`}
        onClick={() => actions[role](each)}
      >
        {each.role === role ? label : `As ${role}`}
      </button>
    ),
  });
  return [
    {
      id: "run",
      label: "Experiment",
      least: "150px",
      cell: ({ name, link }) => (link.simulated ? `${name} (simulated)` : name),
      hint: ({ of }) => of.run,
      order: ({ name }) => name,
    },
    {
      ...figureColumn("step", "Mean step", 96, "ns", ({ link }) => link.step_ns),
      cell: ({ link }) => scales.of(link.step_ns).text(link.step_ns),
    },
    figureColumn("steps", "Steps", 64, "count", ({ link }) => link.steps),
    choice("base", "Base"),
    choice("candidate", "Candidate"),
    change("from_previous", "From the one before", "Change of the mean step and its 95 % interval."),
    change("from_first", "From the first", "Change of the mean step and its 95 % interval."),
  ];
}

function changeText(change: StepChange | null, scale: Scale): string {
  if (change === null) return DASH;
  const moved = signed(changeOf(change), scale);
  const interval = intervalText(change, scale);
  if (interval === "") return moved;
  return change.distinguishable ? `${moved} (${interval})` : `${moved}, not distinguishable`;
}
