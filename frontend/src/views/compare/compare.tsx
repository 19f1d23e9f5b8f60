/** What changed from one run to another: by how much, in which parts, and whether it is more than noise. */

import { useMemo } from "preact/hooks";
import type { Contribution, FigureChange, Prediction, Unit } from "../../api.gen";
import { Section } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { type Column, Table } from "../../components/table";
import { change, DASH, ns, type Scale, shortened, text } from "../../format";
import { sentence } from "../../phrase";
import { scaleOf } from "../../scale";
import { hiddenParts, readingOf, sorting } from "../choices";
import { type MeanStep, MeanStepBar } from "../mean_step_bar";
import type { Pair, PairViewProps, Tab } from "../props";
import { figureColumn } from "../table_picture";
import { More } from "../tiles";
import { ChangeTables, isChanged } from "./change_tables";
import { Experiments } from "./experiments";
import { NAME_LETTERS, StepWaterfall } from "./step_waterfall";

export function Comparison({ chosen, base, pair, chain, tab: outer }: PairViewProps) {
  const tab = useMemo(() => ({ ...outer, steps: 1 }), [outer]); // everything here refers to a mean step
  const found = pair?.found.comparison;
  const advised = (found?.changes.length ?? 0) > 0;
  const measured = found?.figures.some((figure) => figure.base !== null && figure.candidate !== null) ?? false;
  const tables = found?.tables ?? [];
  const changed = tables.some(isChanged);
  const changes = pair && <ChangeTables pair={pair} tab={tab} />;
  const experiments = <Experiments chosen={chosen} base={base} request={chain} tab={tab} />;
  return (
    <div class="view" data-view="compare">
      {pair && (pair.unlike ? <StepsApart pair={pair} tab={tab} /> : <StepWaterfall pair={pair} tab={tab} />)}
      {changed && changes}
      {pair && advised && <Promises pair={pair} tab={tab} />}
      {pair ? (
        <More
          of={[
            tables.length > 0 && !changed && "what did not change",
            measured && "GPU use",
            !advised && "gains of the advice",
            "other experiments",
          ]}
          tab={tab}
        >
          {!changed && changes}
          {measured && <Figures pair={pair} tab={tab} />}
          {!advised && <Promises pair={pair} tab={tab} />}
          {experiments}
        </More>
      ) : (
        experiments
      )}
    </div>
  );
}

/**
 * Figures of both runs that are not parts of the step: how full the GPU is, how near to its limit, how much memory it
 * uses.
 */
function Figures({ pair, tab }: { pair: Pair; tab: Tab }) {
  return (
    <Section title="How well is the GPU used?" sub="means over the compared steps">
      <Table
        label="Figures of both runs"
        columns={columnsOf(pair, tab)}
        rows={pair.found.comparison.figures}
        rowKey={({ metric }) => metric}
      />
    </Section>
  );
}

function columnsOf({ name, own }: Pair, { meanings }: Tab): Column<FigureChange>[] {
  const metric = (row: FigureChange) => meanings.metric(row.metric);
  const missing = ({ why, ...row }: FigureChange) => {
    if (why) return sentence(meanings.explain(why));
    return isRange(row)
      ? "It is only known to lie in a range; the interval holds both ends."
      : "It is not measurable there.";
  };
  const mean = (id: "base" | "candidate", label: string, of: string): Column<FigureChange> => ({
    ...{ id, label, meaning: `Of ${of}.`, width: "120px", numeric: true, missing },
    cell: (row) => {
      const value = row[id];
      if (value === null) return DASH;
      const upper = id === "base" ? row.base_high : row.candidate_high;
      return upper === null ? text(value, metric(row).unit) : range(value, upper, metric(row).unit);
    },
  });
  return [
    {
      id: "figure",
      label: "Figure",
      cell: (row) => metric(row).label,
      hint: (row) => metric(row).meaning,
    },
    mean("base", "Before", name),
    mean("candidate", "After", own),
    {
      ...{ id: "change", label: "Change", width: "130px", numeric: true, missing },
      meaning: `Of ${own}, less that of ${name}; of a share in percentage points.`,
      cell: (row) => (
        <span class={row.distinguishable === false ? "faint" : undefined}>
          {row.base === null || row.candidate === null || isRange(row)
            ? DASH
            : change(row.base, row.candidate, metric(row).unit)}
        </span>
      ),
    },
    {
      ...{ id: "interval", label: "95 % interval", width: "240px", numeric: true },
      meaning: "Of the change. Where it holds 0, the change is not distinguishable from noise.",
      cell: ({ low, high, ...row }) =>
        low === null || high === null ? DASH : between(low, high, meanings.metric(row.metric).unit),
      missing: "One side has too few steps to say.",
    },
  ];
}

const isRange = ({ base_high, candidate_high }: Pick<FigureChange, "base_high" | "candidate_high">): boolean =>
  base_high !== null || candidate_high !== null;

/** "10 to 80 %" */
function range(low: number, high: number, unit: Unit): string {
  const [from, to] = [text(low, unit), text(high, unit)];
  const [size, written] = from.split("\u00a0");
  return written && to.endsWith(`\u00a0${written}`) ? `${size} to ${to}` : `${from} to ${to}`;
}

/** "+12.2 to +23.7 points"; one figure where both ends read the same. */
function between(low: number, high: number, unit: Unit): string {
  const [from, to] = [end(low, unit), end(high, unit)];
  const [size, written] = from.split("\u00a0");
  if (from === to) return to;
  return written && to.endsWith(`\u00a0${written}`) ? `${size} to ${to}` : `${from} to ${to}`;
}

const end = (value: number, unit: Unit): string => (value === 0 ? text(0, unit) : change(0, value, unit));

/** The mean steps of two runs that do different work: each as a bar on its own axis, without a difference. */
function StepsApart({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { found, name, own } = pair;
  const { step, waterfalls } = found.comparison;
  const { rows } = waterfalls.find(({ by }) => by === "part")!;
  const stepOf = (whose: string, length: number, of: (row: Contribution) => number): MeanStep => ({
    name: whose,
    ns: length,
    parts: rows.flatMap((row) => {
      const meaning = tab.meanings.parts.find(({ id }) => id === row.id);
      return meaning ? [{ ...meaning, ns: of(row) }] : [];
    }),
  });
  return (
    <MeanStepBar
      label={() => `Mean step: ${name} ${ns(step.base_ns)}, ${own} ${ns(step.candidate_ns)}.`}
      step={stepOf(name, step.base_ns, (row) => row.base_ns)}
      other={stepOf(own, step.candidate_ns, (row) => row.candidate_ns)}
      apart
      braces={[]}
      off={hiddenParts(tab.state)}
    />
  );
}

/** The gains that cards of the base predicted, beside what was actually gained. */
function Promises({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { found, name, own } = pair;
  const { predictions } = found.comparison;
  const values = predictions.flatMap(({ predicted_ns, measured_ns }) => [predicted_ns, measured_ns]);
  const scale = scaleOf(values, "ns", readingOf(tab).unit);
  return (
    <Section
      title={`What did the advice for ${shortened(name, NAME_LETTERS)} gain?`}
      sub={predictions.length > 0 && "a step; predicted: at most"}
    >
      <p class="quiet small">
        {found.comparison.changes.length === 0
          ? nothingOf(found.comparison.same_work, own)
          : `Changed in ${shortened(own, NAME_LETTERS)}, as far as the traces show: `}
        {found.comparison.changes.map((change, at) => (
          <>
            {at > 0 && "; "}
            <b>{found.changes[change] ?? change}</b>
          </>
        ))}
        {found.comparison.changes.length > 0 &&
          (predictions.length > 0 ? "." : `. No recommendation for ${name} asks for it.`)}
      </p>
      {predictions.length > 0 && (
        <Table
          label="Predicted and measured gains"
          columns={gainColumns(pair, tab, scale)}
          rows={predictions}
          rowKey={({ insight }) => insight}
          {...sorting(tab, "promises")}
        />
      )}
      {predictions.map(({ insight, change }, at) => (
        <p key={insight} class="quiet small aside">
          {predictions.length > 1 && `${found.changes[change] ?? change}: `}
          <Sentence phrase={found.residuals[at]!} />
        </p>
      ))}
    </Section>
  );
}

const nothingOf = (sameWork: boolean, own: string): string =>
  sameWork
    ? `The traces show no changed setting in ${own}.`
    : "The two runs do different work, so no advice can be checked against them.";

function gainColumns({ found, name, own }: Pair, { meanings }: Tab, scale: Scale): Column<Prediction>[] {
  const partOf = ({ of }: Prediction): string =>
    of === null ? "The step" : (meanings.parts.find(({ id }) => id === of)?.label ?? of);
  const gain = (id: "predicted_ns" | "measured_ns", label: string, meaning: string): Column<Prediction> => ({
    ...figureColumn(id, label, 104, "ns", (row) => row[id], { siblings: "gain" }),
    meaning,
  });
  return [
    {
      id: "change",
      label: "Change",
      meaning: `What ${own} does, and ${name} does not.`,
      order: ({ change }) => found.changes[change] ?? change,
      hint: (row) => meanings.card(row.insight)?.fires,
    },
    gain("predicted_ns", "Predicted", `The gain on the card in ${name}, at most.`),
    gain("measured_ns", "Measured", `How much shorter it is in ${own}.`),
    {
      id: "interval",
      label: "95 % interval",
      meaning: "Of the measured gain. Where it holds 0, the gain is not distinguishable from noise.",
      width: "150px",
      numeric: true,
      cell: ({ low, high }) => (low === null || high === null ? DASH : `${scale.number(low)} to ${scale.text(high)}`),
      order: ({ low }) => low,
      missing: "One side has too few steps to say.",
    },
    {
      id: "of",
      label: "Measured in",
      meaning:
        "Where several pieces of advice were followed, each is compared with the part of the step that it shortens.",
      width: "150px",
      order: partOf,
    },
  ];
}
