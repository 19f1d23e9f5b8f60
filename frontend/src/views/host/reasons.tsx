/**
 * Idle time by reason, in each step and phase: a picture, its sum and bar in a table cell, and which reasons a legend
 * hides.
 */

import { mean, sum } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import { stepInTimeline } from "../../address/selection";
import type { Blocker, DeviceIdle, HostResult, IdleNs, PartMeaning, Segment, SeveralDevices } from "../../api.gen";
import { FigureBar } from "../../charts/bars/split_bar";
import { StackedBars } from "../../charts/bars/stacked_bars";
import { partRow } from "../../charts/pointer/tip";
import { Chips } from "../../components/chips";
import { type TableData, tableData } from "../../components/data_table";
import type { Write } from "../../components/figures";
import { Keys, keyOfPart } from "../../components/keys";
import { Picture } from "../../components/picture";
import { type Column, fileFields, nsColumn } from "../../components/table";
import { rangeText, scaleFor, text } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { keysOfHidden, selectedStep, totalsOf } from "../choices";
import { type HostPart, titleOf } from "../props";
import { figureColumn, nameColumn, TablePicture, timesOf } from "../table_picture";

/** What a bar stands for: a step, or a phase of the mean step. */
interface IdleBar {
  name: string;
  idle: IdleNs;
}

export const reasonOf = (idle: IdleNs, { id }: PartMeaning): number => idle[id as keyof IdleNs];
const HEIGHT = 236;

/** Idle time by reason, a bar per step or per phase. */
export function Reasons({ result, titles, tab, name, off: hidden }: HostPart) {
  const off = useMemo(() => hiddenReasons(result.segments, hidden), [result, hidden]);
  const by = tab.state.idle === "phase" || result.steps.length <= 1 ? "phase" : "step";
  const [hovered, hover] = useState<number | null>(null);
  const bars = useMemo(() => (by === "phase" ? barsOfPhases(result) : barsOfSteps(result)), [result, by]);
  const present = useMemo(
    () => tab.meanings.idle_reasons.filter((reason) => bars.some(({ idle }) => reasonOf(idle, reason) > 0)),
    [bars, tab.meanings],
  );
  const drawn = useMemo(
    () =>
      drawnBars(
        bars,
        present.filter(({ id }) => !off.has(id)),
      ),
    [bars, present, off],
  );
  const { scale } = drawn;
  const names = bars.map((bar) => bar.name);
  const bySteps = by === "step" ? `of steps ${rangeText(names[0] ?? "", names[names.length - 1] ?? "")}` : null;
  const title = titleOf({ titles }, "reasons");
  const tip = (at: number) => ({
    title: `${by === "step" ? "Step " : ""}${names[at]}, ${scale.text(total(bars[at]!.idle, present))} idle`,
    rows: present
      .filter((reason) => reasonOf(bars[at]!.idle, reason) > 0)
      .map((reason) => partRow(reason, scale.text(reasonOf(bars[at]!.idle, reason)))),
  });
  return (
    <Picture
      title={title}
      name={`idle by ${by} ${name}`}
      table={() => tableOf(bars, present, by)}
      tools={
        result.steps.length > 1 && (
          <div class="groupings">
            <Chips
              label="A bar per"
              chosen={by}
              options={barChoices(tab.meanings)}
              choose={(next) => tab.update({ idle: next === "phase" ? next : null })}
            />
          </div>
        )
      }
    >
      <StackedBars
        label={
          `${sentence(title)}. Idle time by reason, a bar for each ` +
          `${bySteps ?? `phase: ${names.join(", ")}`}, up to ${scale.text(drawn.longest)}.`
        }
        names={names}
        parts={drawn.parts}
        unit={scale.unit}
        heads={drawn.heads}
        firm={names.map(() => false)}
        axis={by}
        height={HEIGHT}
        tip={tip}
        hovered={hovered}
        selected={by === "step" ? selectedStep(tab.state, names) : null}
        hover={hover}
        open={by === "step" ? (at) => tab.update(stepInTimeline(names[at] ?? null)) : undefined}
        select={(at) => by === "step" && tab.update({ step: at === null ? null : (names[at] ?? null), zoom: null })}
      />
      <Keys
        label="Reasons why the GPU is idle"
        keys={present.map(keyOfPart)}
        off={off}
        choose={(next) => {
          const pressed = present.filter(({ id }) => next.has(id) !== off.has(id));
          tab.update(keysOfHidden(pressed.reduce((all, { id }) => withToggled(result.segments, id, all), hidden)));
        }}
      />
    </Picture>
  );
}

const barChoices = (meanings: Meanings) =>
  (["step", "phase"] as const).map((id) => ({ id, ...columnHead(meanings, `idle_by_${id}`) }));

export const barsOfSteps = ({ steps }: HostResult): IdleBar[] =>
  steps.map((step) => ({ name: step.name, idle: step.idle_ns }));
export const barsOfPhases = ({ phases }: HostResult): IdleBar[] =>
  phases.map((phase) => ({ name: phase.label, idle: phase.idle_ns }));

const total = (idle: IdleNs, reasons: readonly PartMeaning[]): number =>
  sum(reasons, (reason) => reasonOf(idle, reason));

function drawnBars(bars: readonly IdleBar[], shown: readonly PartMeaning[]) {
  const lengths = bars.map(({ idle }) => total(idle, shown));
  const longest = Math.max(0, ...lengths);
  const scale = scaleFor(longest, "ns");
  return {
    scale,
    longest,
    heads: lengths.map(scale.number),
    parts: shown.map((reason) => ({ ...reason, values: bars.map(({ idle }) => scale.of(reasonOf(idle, reason))) })),
  };
}

const tableOf = (bars: readonly IdleBar[], reasons: readonly PartMeaning[], by: string): TableData =>
  tableData<IdleBar>(
    [
      { label: by === "step" ? "Step" : "Phase", of: ({ name }) => name },
      nsColumn("Idle", ({ idle }) => total(idle, reasons)),
      ...reasons.map((reason) => nsColumn<IdleBar>(reason.label, ({ idle }) => reasonOf(idle, reason))),
    ],
    bars,
  );

export const idleOf = (idle: IdleNs): number => sum(Object.values(idle));

interface IdleBarProps {
  idle: IdleNs;
  reasons: readonly PartMeaning[];
  /** The time that fills the cell, ns. */
  longest: number;
  write: Write;
}

/** Idle time as a bar in the colours of its reasons, with its figure; the figures of the reasons are shown on hover. */
export function IdleCell({ idle, reasons, longest, write }: IdleBarProps) {
  const parts = reasons.map((reason) => ({ ...reason, ns: reasonOf(idle, reason) })).filter((part) => part.ns > 0);
  const segments = parts.map(({ ns, colour, hatched }) => ({ colour, hatched, share: longest ? ns / longest : 0 }));
  return (
    <FigureBar segments={segments} hint={parts.map(({ label, ns }) => `${label} ${write(ns)}`).join("\n")}>
      {write(idleOf(idle))}
    </FigureBar>
  );
}

/** Reasons of which no segment with any length is shown. */
export function hiddenReasons(segments: readonly Segment[], off: ReadonlySet<string>): ReadonlySet<string> {
  const reasons = new Set(segments.flatMap((segment) => segment.reasons));
  return new Set([...reasons].filter((reason) => segmentsOf(segments, reason).every((segment) => off.has(segment.id))));
}

/** What is hidden after a click on a reason: all its segments, or none of them. */
export function withToggled(
  segments: readonly Segment[],
  reason: string,
  off: ReadonlySet<string>,
): ReadonlySet<string> {
  const [next, shown] = [new Set(off), !hiddenReasons(segments, off).has(reason)];
  for (const { id } of segmentsOf(segments, reason))
    if (shown) next.add(id);
    else next.delete(id);
  return next;
}

/** The segments of a reason that are drawn; all of them, where the bar of the mean step shows none. */
function segmentsOf(segments: readonly Segment[], reason: string): readonly Segment[] {
  const of = segments.filter((segment) => segment.reasons.includes(reason));
  const drawn = of.filter((segment) => segment.ns > 0);
  return drawn.length > 0 ? drawn : of;
}

/** The GPUs of one process: whether they work at the same time, and which op for one GPU keeps another waiting. */
export function SeveralGpus({ result, titles, tab, name, several }: HostPart & { several: SeveralDevices }) {
  const { devices } = result;
  return (
    <>
      <TablePicture
        title={titleOf({ titles }, "devices")}
        sub={`${totalsOf(tab)}; ${text(several.concurrency, "number")} work at a time while any works`}
        name={`devices ${name}`}
        label="GPUs of this process"
        columns={deviceColumns(devices, tab.meanings)}
        rows={devices}
        rowKey={(row) => row.device}
        order="gpus"
        tab={tab}
      />
      {several.blockers.length > 0 && (
        <TablePicture
          title="Which op keeps which GPU waiting?"
          sub={totalsOf(tab)}
          name={`holders ${name}`}
          label="Ops that keep another GPU waiting"
          columns={blockerColumns}
          rows={several.blockers}
          rowKey={(row) => `${row.op} ${row.by_device} ${row.idle_device}`}
          order="holders"
          maxRows={10}
          tab={tab}
        />
      )}
    </>
  );
}

function deviceColumns(devices: readonly DeviceIdle[], { idle_reasons: reasons }: Meanings): Column<DeviceIdle>[] {
  const longest = devices.reduce((most, row) => Math.max(most, idleOf(row.mean)), 0);
  return [
    {
      id: "device",
      label: "GPU",
      order: (row) => row.device,
      cell: (row) => (
        <>
          GPU {row.device}
          <span class="faint"> {row.name}</span>
        </>
      ),
      file: [{ label: "GPU", of: (row) => String(row.device) }, ...fileFields<DeviceIdle>({ name: "Name" })],
    },
    figureColumn("busy", "Works", 76, "ns", (row) => mean(row.busy_ns) ?? 0, timesOf("step")),
    {
      ...figureColumn("idle", "Idle", 180, "ns", (row) => idleOf(row.mean), timesOf("step")),
      cell: (row, _, write) => <IdleCell idle={row.mean} reasons={reasons} longest={longest} write={write} />,
      file: reasons.map((reason) => nsColumn(reason.label, (row) => reasonOf(row.mean, reason))),
    },
  ];
}

const blockerColumns: Column<Blocker>[] = [
  nameColumn("op", "Op that blocks", (row) => row.op),
  {
    id: "by",
    label: "Works for",
    width: "88px",
    order: (row) => row.by_device,
    cell: (row) => `GPU ${row.by_device}`,
    file: [{ label: "Works for GPU", of: (row) => String(row.by_device) }],
  },
  {
    id: "waits",
    label: "Waits",
    width: "64px",
    order: (row) => row.idle_device,
    cell: (row) => `GPU ${row.idle_device}`,
    file: [{ label: "GPU that waits", of: (row) => String(row.idle_device) }],
  },
  figureColumn("idle", "Idle", 76, "ns", (row) => row.idle_ns, { adds: "step" }),
];
