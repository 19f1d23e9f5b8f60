/** The rows of a waterfall: their names, their colours, and what is said of each. */

import type { Contribution, Waterfall as Found, PartMeaning } from "../../api.gen";
import type { TipContent } from "../../charts/pointer/tip";
import type { TableData } from "../../components/data_table";
import { type Scale, shortened } from "../../format";
import type { Meanings } from "../../meanings";
import type { Pair } from "../props";
import type { FallRow } from "./charts/waterfall";
import { signed } from "./difference";
import { type Interval, intervalText, isClear, NOT_CLEAR } from "./interval";

export type Way = Found["by"];

export const WAYS: Readonly<Record<Way, { label: string; meaning: string }>> = {
  part: { label: "Part", meaning: "What the step is made of: each instant has one part." },
  reason: { label: "Idle reason", meaning: "When the GPU is busy, and why it is idle otherwise." },
  phase: { label: "Phase", meaning: "What the training thread of the host does." },
  module: { label: "Module", meaning: "Kernel time by the module that launched it." },
  op: { label: "Op", meaning: "Kernel time by the op that launched it." },
  kernel: { label: "Kernel", meaning: "Kernel time by kernel." },
};

/** Kernels have names of their own, and a rest that no kernel is. */
export const OF_KERNELS: readonly Way[] = ["module", "op", "kernel"];

const UNNAMED: Readonly<Partial<Record<Way, string>>> = { module: "In no module", op: "In no op" };

/** Of rows that no meaning has. */
const REST = "rest";

const changeOf = ({ base_ns, candidate_ns }: Contribution): number => candidate_ns - base_ns;

/** Rows that changed, in their order; the rest comes last. */
export function fallRows(
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

/** By the meaning of a row: kernels are kernels, by whatever they are summed. */
function paintOf(by: Way, id: string, { parts, idle_reasons }: Meanings): Pick<PartMeaning, "colour" | "hatched"> {
  const plain = (colour: string) => ({ colour, hatched: false });
  if (id === REST) return plain("other");
  if (by === "phase")
    return plain(id === "data_loading" ? "data" : id === "unknown" || id === "other" ? "other" : "cpu");
  if (OF_KERNELS.includes(by)) return plain("kernel");
  const { colour, hatched } = (by === "part" ? parts : idle_reasons).find((each) => each.id === id) ?? plain("kernel");
  return { colour, hatched };
}

export function spokenOf({ name, own, found }: Pair, rows: readonly FallRow[], scale: Scale): string {
  const { base_ns, candidate_ns } = found.comparison.step;
  const falls = rows.map(({ label, figure }) => `${label} ${figure}`).join(", ");
  return `Mean step: ${name} ${scale.text(base_ns)}, ${own} ${scale.text(candidate_ns)}. ${falls}.`;
}

export function waterfallTable(
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
      ["Step", step.base_ns, step.candidate_ns, step.candidate_ns - step.base_ns, step.low, step.high],
    ],
  };
}

/** Of a row, counted from the base; the candidate is the last. */
export function waterfallTip({ found, name, own }: Pair, shown: Found, rows: readonly FallRow[], scale: Scale) {
  const { step } = found.comparison;
  const total = { name: "Mean step", value: scale.text(step.candidate_ns) };
  const change = { name: "Change", value: signed(step.candidate_ns - step.base_ns, scale) };
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
