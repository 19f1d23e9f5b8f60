/** The gains that cards of the base predicted, beside what was actually gained. */

import type { Prediction } from "../../api.gen";
import { Sentence } from "../../components/sentence";
import { type Column, Table } from "../../components/table";
import { hint } from "../../dom/hint";
import { DASH, type Scale } from "../../format";
import { scaleOf } from "../../scale";
import { readingOf, sorting } from "../choices";
import type { Pair, Tab } from "../props";

export function Promises({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { found, name, own } = pair;
  const { predictions } = found.comparison;
  const values = predictions.flatMap(({ predicted_ns, measured_ns }) => [predicted_ns, measured_ns]);
  const scale = scaleOf(values, "ns", readingOf(tab).unit);
  return (
    <section class="devices">
      <div class="head">
        <h2>What did the advice for {name} gain?</h2>
        {predictions.length > 0 && <span class="sub">a step; predicted: at most</span>}
      </div>
      <p class="quiet small">
        {found.comparison.changes.length === 0
          ? nothingOf(found.comparison.same_work, own)
          : `Changed in ${own}, as far as the traces show: `}
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
          columns={columnsOf(pair, tab, scale)}
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
    </section>
  );
}

const nothingOf = (sameWork: boolean, own: string): string =>
  sameWork
    ? `The traces show no changed setting in ${own}.`
    : "The two runs do different work, so no advice can be checked against them.";

function columnsOf({ found, name, own }: Pair, { meanings }: Tab, scale: Scale): Column<Prediction>[] {
  const partOf = ({ of }: Prediction): string =>
    of === null ? "The step" : (meanings.parts.find(({ id }) => id === of)?.label ?? of);
  const gain = (id: "predicted_ns" | "measured_ns", label: string, meaning: string): Column<Prediction> => ({
    ...{ id, label, meaning, width: "104px" },
    figures: { of: (row) => row[id], unit: "ns", siblings: "gain" },
  });
  return [
    {
      id: "change",
      label: `What ${own} does`,
      order: ({ change }) => found.changes[change] ?? change,
      cell: (row) => (
        <span {...hint(meanings.card(row.insight)?.fires)}>{found.changes[row.change] ?? row.change}</span>
      ),
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
      cell: partOf,
      order: partOf,
    },
  ];
}
