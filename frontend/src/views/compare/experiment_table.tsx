/** The experiments in a table, where base and candidate are chosen. */

import type { StepChange } from "../../api.gen";
import { type Column, Table } from "../../components/table";
import { hint } from "../../dom/hint";
import { DASH, type Scale } from "../../format";
import { readingOf, sorting } from "../choices";
import type { Tab } from "../props";
import { signed } from "./difference";
import type { Actions, Experiment } from "./experiments";
import { intervalText } from "./interval";
import { type StepScales, stepScales } from "./step_scales";

interface ExperimentTableProps extends Actions {
  all: readonly Experiment[];
  tab: Tab;
}

export function ExperimentTable({ all, tab, ...actions }: ExperimentTableProps) {
  const scales = stepScales(
    all.map(({ link }) => link.step_ns),
    readingOf(tab).unit,
  );
  return (
    <section class="devices">
      <div class="head">
        <h2>Which two are compared?</h2>
        <span class="sub">{tab.state.order ? "in your order" : "in the order in which they were recorded"}</span>
      </div>
      <Table
        label="Experiments"
        columns={columnsOf(actions, scales)}
        rows={all}
        rowKey={({ of }) => of.spans.join()}
        maxRows={14}
        {...sorting(tab, "experiments")}
      />
    </section>
  );
}

function columnsOf(actions: Actions, scales: StepScales): Column<Experiment>[] {
  const change = (id: "from_previous" | "from_first", label: string, meaning: string): Column<Experiment> => ({
    ...{ id, label, meaning, numeric: true, width: "212px" },
    cell: ({ link }) => changeText(link[id], scales.of(link.step_ns)),
    missing: "The first of all, or the two do other work.",
    order: ({ link }) => (link[id] === null ? null : link[id].candidate_ns - link[id].base_ns),
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
      cell: ({ name, of, link }) => <span {...hint(of.run)}>{link.simulated ? `${name} (simulated)` : name}</span>,
      order: ({ name }) => name,
    },
    {
      ...{ id: "step", label: "Mean step", width: "96px" },
      figures: { of: ({ link }) => link.step_ns, unit: "ns" },
      cell: ({ link }) => scales.of(link.step_ns).text(link.step_ns),
    },
    { ...{ id: "steps", label: "Steps", width: "64px" }, figures: { of: ({ link }) => link.steps, unit: "count" } },
    change("from_previous", "From the one before", "Change of the mean step and its 95 % interval."),
    change("from_first", "From the first", "Change of the mean step and its 95 % interval."),
    choice("base", "Base"),
    choice("candidate", "Candidate"),
  ];
}

function changeText(change: StepChange | null, scale: Scale): string {
  if (change === null) return DASH;
  const moved = signed(change.candidate_ns - change.base_ns, scale);
  const interval = intervalText(change, scale);
  if (interval === "") return moved;
  return change.distinguishable ? `${moved} (${interval})` : `${moved}, not distinguishable`;
}
