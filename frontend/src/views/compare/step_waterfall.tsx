/** From the mean step of the base to that of the candidate: what made it shorter, and what made it longer. */

import { useMemo } from "preact/hooks";
import type { Waterfall as Found, PartMeaning } from "../../api.gen";
import type { TipContent } from "../../charts/pointer/tip";
import { Chips } from "../../components/chips";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { counted, type Scale, shortened } from "../../format";
import type { Meanings } from "../../meanings";
import { readingOf } from "../choices";
import type { Pair, Tab } from "../props";
import { type FallRow, Waterfall } from "./charts/waterfall";
import { changeOf, type Interval, intervalText, isClear, NOT_CLEAR, signed, stepScales } from "./difference";

export function StepWaterfall({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { found, name, own } = pair;
  const { step, waterfalls } = found.comparison;
  const shown = waterfalls.find(({ by }) => by === tab.state.way) ?? waterfalls[0]!;
  const { unit } = readingOf(tab);
  const scales = useMemo(() => stepScales([step.base_ns, step.candidate_ns], unit), [step, unit]);
  const scale = scales.all;
  const rows = useMemo(() => fallRows(shown, found.labels, tab.meanings, scale), [shown, found, tab.meanings, scale]);
  const steps = `${counted(step.base_steps, "step")} and ${counted(step.candidate_steps, "step")}`;
  return (
    <Picture
      title={titleOf(pair, scale)}
      below
      sub={`means of ${steps}${step.low === null ? "" : ", with 95 % intervals"}`}
      name={`change by ${shown.by} ${own} ${name}`}
      table={() => waterfallTable(shown, found.labels, pair)}
    >
      <Chips
        label="Split the change by"
        name="Split by"
        chosen={shown.by}
        options={waterfalls.map(({ by }) => ({ id: by, ...WAYS[by] }))}
        choose={(way) => tab.update({ way: way === "part" ? null : way })}
      />
      <Waterfall
        label={spokenOf(pair, rows, scale)}
        base={{ label: name, value: step.base_ns, figure: scales.of(step.base_ns).text(step.base_ns), aside: "" }}
        rows={rows}
        candidate={{
          label: own,
          value: step.candidate_ns,
          figure: scales.of(step.candidate_ns).text(step.candidate_ns),
          aside: intervalText(step, scale),
        }}
        scale={scale}
        tip={waterfallTip(pair, shown, rows, scale)}
      />
      <LeftOut shown={shown} rows={rows} split={waterfalls.some(({ by }) => by === "kernel")} />
    </Picture>
  );
}

/** A title has room for this much of the name of a run. */
export const NAME_LETTERS = 36;

function titleOf({ found, own }: Pair, scale: Scale): string {
  const { base_ns, candidate_ns, distinguishable } = found.comparison.step;
  const moved = scale.text(Math.abs(candidate_ns - base_ns));
  if (candidate_ns === base_ns || distinguishable === false) return "What is a step made of in both?";
  const name = shortened(own, NAME_LETTERS);
  return `What makes a step of ${name} ${moved} ${candidate_ns < base_ns ? "shorter" : "longer"}?`;
}

/** What the picture does not show. split: whether kernels are known on both sides. */
function LeftOut({ shown, rows, split }: { shown: Found; rows: readonly FallRow[]; split: boolean }) {
  const same = shown.rows.length - rows.length;
  const more = shown.more > 0 ? `${counted(shown.more, shown.by)} that changed less, ` : "";
  const lines = [
    same > 0 && `${counted(same, "row")} did not change and ${same === 1 ? "is" : "are"} not drawn.`,
    OF_KERNELS.includes(shown.by) &&
      `The rest of the step: ${more}idle time and copies, less what kernels run at the same time.`,
    !split && "Kernels are not recorded on both sides, so that nothing is split by module, op or kernel.",
  ].filter((each) => each !== false);
  return lines.length === 0 ? null : <p class="quiet small aside">{lines.join(" ")}</p>;
}

/** The rows of a waterfall: their names, their colours, and the text about each. */
type Way = Found["by"];

const WAYS: Readonly<Record<Way, { label: string; meaning: string }>> = {
  part: { label: "Part", meaning: "What the step is made of: each instant has one part." },
  reason: { label: "Idle reason", meaning: "When the GPU is busy, and why it is idle otherwise." },
  phase: { label: "Phase", meaning: "What the main thread of the host does." },
  module: { label: "Module", meaning: "Kernel time by the module that launched it." },
  op: { label: "Op", meaning: "Kernel time by the op that launched it." },
  kernel: { label: "Kernel", meaning: "Kernel time by kernel." },
};

/** Groupings of kernels have names of their own, and a rest that is not a kernel. */
const OF_KERNELS: readonly Way[] = ["module", "op", "kernel"];

const UNNAMED: Readonly<Partial<Record<Way, string>>> = { module: "In no module", op: "In no op" };

/** The id of rows that have no meaning of their own. */
const REST = "rest";

/** The rows that changed, in their order; the rest comes last. */
function fallRows(
  { by, rows }: Found,
  labels: Readonly<Record<string, string>>,
  meanings: Meanings,
  scale: Scale,
): FallRow[] {
  return rows
    .filter((row) => changeOf(row) !== 0)
    .map((row) => ({
      id: row.id,
      label: shortened(labelOfRow(by, row.id, labels), 60),
      ...paintOf(by, row.id, meanings),
      change: changeOf(row),
      low: row.low,
      high: row.high,
      figure: signed(changeOf(row), scale),
      aside: intervalText(row, scale),
    }));
}

function labelOfRow(by: Way, id: string, labels: Readonly<Record<string, string>>): string {
  if (id === "") return UNNAMED[by] ?? "Other";
  return OF_KERNELS.includes(by) && id !== REST ? id : (labels[id] ?? id);
}

/** The colour of a row's meaning: kernels have the colour of kernels, whatever they are grouped by. */
function paintOf(by: Way, id: string, { parts, idle_reasons }: Meanings): Pick<PartMeaning, "colour" | "hatched"> {
  const plain = (colour: string) => ({ colour, hatched: false });
  if (id === REST) return plain("other");
  if (by === "phase")
    return plain(id === "data_loading" ? "data" : id === "unknown" || id === "other" ? "other" : "cpu");
  if (OF_KERNELS.includes(by)) return plain("kernel");
  const { colour, hatched } = (by === "part" ? parts : idle_reasons).find((each) => each.id === id) ?? plain("kernel");
  return { colour, hatched };
}

function spokenOf({ name, own, found }: Pair, rows: readonly FallRow[], scale: Scale): string {
  const { base_ns, candidate_ns } = found.comparison.step;
  const falls = rows.map(({ label, figure }) => `${label} ${figure}`).join(", ");
  return `Mean step: ${name} ${scale.text(base_ns)}, ${own} ${scale.text(candidate_ns)}. ${falls}.`;
}

function waterfallTable(
  { by, rows }: Found,
  labels: Readonly<Record<string, string>>,
  { name, own, found }: Pair,
): TableData {
  const { step } = found.comparison;
  return {
    columns: [
      { label: WAYS[by].label },
      { label: name, unit: "ns" },
      { label: own, unit: "ns" },
      { label: "Change", unit: "ns" },
      { label: "95 % from", unit: "ns" },
      { label: "95 % to", unit: "ns" },
    ],
    rows: [
      ...rows.map((row) => [
        labelOfRow(by, row.id, labels),
        row.base_ns,
        row.candidate_ns,
        changeOf(row),
        row.low,
        row.high,
      ]),
      ["Step", step.base_ns, step.candidate_ns, changeOf(step), step.low, step.high],
    ],
  };
}

/** The tip of a row, where row 0 is the base; the candidate is the last row. */
function waterfallTip({ found, name, own }: Pair, shown: Found, rows: readonly FallRow[], scale: Scale) {
  const { step } = found.comparison;
  const total = { name: "Mean step", value: scale.text(step.candidate_ns) };
  const change = { name: "Change", value: signed(changeOf(step), scale) };
  return (row: number): TipContent => {
    if (row === 0) return { title: name, rows: [{ name: "Mean step", value: scale.text(step.base_ns) }] };
    const fall = rows[row - 1];
    if (fall === undefined) return { title: own, rows: [total, change, ...intervalRows(step, scale)] };
    const { base_ns, candidate_ns } = shown.rows.find(({ id }) => id === fall.id)!;
    const sides = [
      { name, value: scale.text(base_ns) },
      { name: own, value: scale.text(candidate_ns) },
    ];
    return {
      title: fall.label,
      rows: [...sides, { name: "Change", value: fall.figure }, ...intervalRows(fall, scale)],
    };
  };
}

const intervalRows = (of: Interval, scale: Scale) => [
  ...(of.low === null ? [] : [{ name: "95 % interval", value: intervalText(of, scale) }]),
  ...(isClear(of) === false ? [{ name: "Noise", value: NOT_CLEAR }] : []),
];
