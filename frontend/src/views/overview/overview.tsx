/** How long a step is, what it is spent on, what to do about it. */

import { sum } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import { stepInTimeline } from "../../address/selection";
import type {
  CouldBe,
  DeviceFigures,
  Largest,
  OverviewResult,
  PageOf,
  PartMeaning,
  Parts,
  Phrase,
  Piece,
} from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { StackedBars } from "../../charts/bars/stacked_bars";
import { partRow } from "../../charts/pointer/tip";
import { Swatch } from "../../colour";
import { recordingOf } from "../../components/about";
import { type TableData, tableData } from "../../components/data_table";
import { Legend } from "../../components/legend";
import { Picture, Section } from "../../components/picture";
import { Details, Sentence, Words } from "../../components/sentence";
import { type Column, fileFields, nsColumn, Table } from "../../components/table";
import { counted, ns, percent, rangeText, rough, type Scale, scaleFor } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { scaleOf } from "../../scale";
import { hiddenParts, keysOfHidden, markOf, readingOf, selectedStep, sorting } from "../choices";
import { MeanStepDifferences } from "../compare/parts";
import { type LeftOut, type MeanStep, MeanStepBar, stepName } from "../mean_step_bar";
import { type Compared, remarkOf, type SpanViewProps, type Tab, titleOf, type ViewPart } from "../props";
import { nameColumn } from "../table_picture";
import { More, SeriesTiles } from "../tiles";
import { ToDo } from "../to_do";
import { type Tries, triedLine, triesOf } from "../tried";
import { Collectives, OfJob } from "./job";
import { belowJob, jobFirst } from "./job_first";

export function Overview({ page: whole, tab, compared, job = null }: SpanViewProps<"overview">) {
  const leads = jobFirst(job) !== null;
  const page = leads ? belowJob(whole) : whole;
  const { result } = page;
  const off = hiddenParts(tab.state);
  const scale = scaleFor(result.mean_duration_ns, "ns");
  const tries = triesOf(page, tab);
  const couldBe = ghostOf(page, tries, tab.meanings);
  const largest = page.largest && <LargestPieces found={page.largest} tab={tab} />;
  const several = result.steps.length > 1;
  // The names in the bar are enough to begin with: with several steps, the legend stands below their picture.
  const legend = (
    <Legend
      label="Parts of the mean step. A button shows or hides its part."
      parts={shownParts(result, compared?.page.result, tab.meanings).map((meaning) =>
        legendPart(meaning, result, tab.meanings),
      )}
      scale={scale}
      off={off}
      choose={(next) => tab.update(keysOfHidden(next))}
    />
  );
  const toDo = <ToDo page={page} here="overview" tab={tab} tries={tries} of_job={leads ? job!.insights : []} />;
  return (
    <div class="view" data-view="overview">
      {job && <OfJob page={job} span={page.head.id} tab={tab} />}
      {leads && toDo}
      {leads && <OwnVerdict page={page} tab={tab} />}
      <MeanStepBar
        label={() => spokenOf(result, couldBe?.ns ?? null, page.head.job.machine, compared)}
        step={{
          ...meanStep(result, compared?.own ?? stepName(result.steps.length), tab.meanings),
          details: steadyText(result.steady_step_ns, page.excess),
        }}
        other={compared && meanStep(compared.page.result, compared.name, tab.meanings)}
        apart={compared?.unlike ?? false}
        couldBe={couldBe}
        braces={bracesOf(result, tab.meanings, page.head.job.machine)}
        off={off}
      >
        {!several && legend}
      </MeanStepBar>
      {compared && <MeanStepDifferences result={result} compared={compared} file={recordingOf(page.head)} tab={tab} />}
      {page.largest?.leads && largest}
      {!leads && toDo}
      {!page.largest?.leads && largest}
      <SeriesTiles
        label="Figures of this span"
        tiles={shownTiles(result)}
        page={page}
        tab={tab}
        compared={compared}
        remark={(metric) => remarkOf(page.titles, `tile.${metric}`)}
      />
      {several && (
        <Steps result={result} title={titleOf(page, "steps")} off={off} tab={tab} name={recordingOf(page.head)} />
      )}
      {several && legend}
      {result.devices.length > 1 && <Devices devices={result.devices} tab={tab} />}
      {result.communication && (
        <More of={["what the ranks exchange"]} tab={tab}>
          <Collectives found={result.communication} tab={tab} />
        </More>
      )}
      {result.has_device && <Words view="overview" />}
    </div>
  );
}

/** What limits the step of this rank alone, where the headline is of its job. */
function OwnVerdict({ page, tab }: { page: PageOf<"overview">; tab: Tab }) {
  return (
    <Section class="own-step" title="This rank alone">
      <p>
        <Sentence phrase={page.headline.verdict} terms />
        <Details text={page.headline.basis} />
      </p>
      {triedLine(page, tab)}
    </Section>
  );
}

/**
 * The length of a step without what runs once, is interrupted or belongs to the profiler, and which time that is; empty
 * where there is none.
 */
const steadyText = (steady: number | null, lost: readonly Phrase[]): string =>
  steady === null || !lost.length
    ? ""
    : [
        `An undisturbed step takes ${rough(steady)}: the median of the steps without excess.`,
        ...lost.map((each) => sentence(each)),
      ].join(" ");

/** The parts that are not empty in every step of both spans: an empty part is not worth a choice. */
const shownParts = (own: OverviewResult, other: OverviewResult | undefined, { parts }: Meanings) =>
  parts.filter((part) =>
    [own, other].some((result) => result?.steps.some((step) => lengthOf(step.parts_ns, part) > 0)),
  );

/** Where nothing on a GPU is recorded, a row of dashes for GPU figures would say no more than the headline. */
const shownTiles = ({ has_device: onDevice, tiles }: OverviewResult) =>
  onDevice ? tiles : tiles.filter(({ reason }) => reason?.code !== "no_gpu_activity");

const lengthOf = (parts: Parts, { id }: PartMeaning): number => parts[id as keyof Parts];

function legendPart(meaning: PartMeaning, result: OverviewResult, meanings: Meanings) {
  const { mean_parts_ns: mean, mean_duration_ns: whole, absent } = result;
  const reason = absent[meaning.id];
  const length = lengthOf(mean, meaning);
  return { meaning, ns: length, share: whole ? length / whole : 0, absent: reason && meanings.explain(reason) };
}

const partsOf = (lengths: Parts, { parts }: Meanings) =>
  parts.map((part) => ({ ...part, ns: lengthOf(lengths, part) }));

const meanStep = (result: OverviewResult, name: string, meanings: Meanings): MeanStep => ({
  name,
  ns: result.mean_duration_ns,
  parts: partsOf(result.mean_parts_ns, meanings),
  missing_ns: result.not_recorded_ns,
  leftOut_ns: meanLeftOut(result),
});

/** The mean of what is left out of a step; 0 where that is less than a hundredth of it. */
function meanLeftOut({ steps, mean_duration_ns: whole }: OverviewResult): number {
  const mean = sum(steps, leftOut) / Math.max(1, steps.length);
  return mean < LEAST_LEFT_OUT * whole ? 0 : mean;
}

const LEAST_LEFT_OUT = 0.01;

/** The step after the ticked changes, or after the change of the first card, where that card has no tick box. */
function ghostOf({ could_be: couldBe, tried }: PageOf<"overview">, tries: Tries | null, meanings: Meanings) {
  if (tries?.ticked) return ghost("Ticked: est.", tries.after, meanings);
  return couldBe && !tried?.ticked.length ? ghost("Could be", couldBe, meanings) : null;
}

const ghost = (name: string, { duration_ns, parts_ns, saved_ns }: CouldBe, meanings: Meanings) => ({
  name: (
    <>
      {name} <b>{rough(duration_ns)}</b>
    </>
  ),
  ns: duration_ns,
  parts: partsOf(parts_ns, meanings),
  saved_ns,
});

/** The labels for work and waiting: with several GPUs, any of them works, or none does. */
function splitOf({ devices, job: { accelerator: it } }: OverviewResult) {
  return devices.length > 1
    ? { works: `A ${it} works`, waits: `No ${it} works`, spoken: [`a ${it} works`, `no ${it} works`] }
    : { works: `${it} works`, waits: `${it} waits`, spoken: [`the ${it} works`, "waits"] };
}

function bracesOf(result: OverviewResult, meanings: Meanings, machine: Phrase) {
  const { has_device: onDevice, works_ns: works, waits_ns: waits, mean_duration_ns: whole } = result;
  const more = leftOutOf(result, meanings);
  if (!onDevice) return [{ label: sentence(machine), ns: whole, whole: true, more }];
  const meaning = meanings.views.find((view) => view.id === "gpu")?.share;
  const split = splitOf(result);
  return [
    { label: split.works, ns: works, meaning },
    { label: split.waits, ns: waits, meaning, more },
  ];
}

/** The time that does not repeat, with its kinds: those of all steps, each by its mean. */
function leftOutOf(result: OverviewResult, meanings: Meanings): LeftOut | null {
  const length = meanLeftOut(result);
  if (!length) return null;
  const kinds = Object.entries(LEFT_OUT)
    .map(([id, of]) => ({ id, mean: sum(result.steps, of) / result.steps.length }))
    .filter(({ mean }) => mean > 0)
    .map(({ id, mean }) => `${labelOf(id, meanings.idle_reasons)}: ${rough(mean)}.`);
  return { ns: length, kinds: `${kinds.join(" ")} No verdict and no gain counts it.` };
}

function spokenOf(
  result: OverviewResult,
  couldBe: number | null,
  machine: Phrase,
  compared: Compared<"overview"> | null,
): string {
  const { has_device: onDevice, works_ns: works, waits_ns: waits, mean_duration_ns: whole } = result;
  const [working, waiting] = splitOf(result).spoken;
  const split = onDevice ? `: ${working} ${ns(works)} and ${waiting} ${ns(waits)}` : `: ${sentence(machine)}`;
  const then = compared
    ? ` ${compared.name}: ${ns(compared.page.result.mean_duration_ns)}.`
    : couldBe !== null
      ? ` It could be about ${rough(couldBe)}.`
      : "";
  return `Mean step of ${ns(whole)}${split}.${then}`;
}

interface StepsProps extends ViewPart {
  title: Phrase;
  result: OverviewResult;
  off: ReadonlySet<string>;
}

function Steps({ result: { steps }, title, off, tab, name }: StepsProps) {
  const [hovered, hover] = useState<number | null>(null);
  const { parts, scale, ...drawn } = useMemo(
    () => stepBars(steps, tab.meanings.parts, off),
    [steps, tab.meanings, off],
  );
  const { names } = drawn;
  const tip = (at: number) => ({
    title: `Step ${names[at]}, ${scale.text(steps[at]!.duration_ns)}`,
    rows: parts
      .filter((part) => part.values[at]! > 0)
      .map((part) => partRow(part, scale.text(lengthOf(steps[at]!.parts_ns, part))))
      .concat(leftOutRows(steps[at]!, tab.meanings.idle_reasons, scale)),
  });
  return (
    <Picture title={title} name={`steps ${name}`} table={() => stepsTable(steps, tab.meanings.parts)}>
      <StackedBars
        label={
          `${sentence(title)}. Stacked bar for each of steps ` +
          `${rangeText(names[0]!, names[names.length - 1]!)}, up to ${scale.text(drawn.longest)}.`
        }
        {...drawn}
        parts={parts}
        unit={scale.unit}
        axis="step"
        hovered={hovered}
        selected={selectedStep(tab.state, names)}
        hover={hover}
        tip={tip}
        select={(at) => tab.update({ step: at === null ? null : (names[at] ?? null) })}
        open={(at) => tab.update(stepInTimeline(names[at] ?? null))}
      />
    </Picture>
  );
}

/** The bars without hidden parts; the number above a bar is the sum of the remaining parts. */
function stepBars(steps: OverviewResult["steps"], all: readonly PartMeaning[], off: ReadonlySet<string>) {
  const shown = all.filter((part) => !off.has(part.id));
  const lengths = steps.map((step) => sum(shown, (part) => lengthOf(step.parts_ns, part)));
  const longest = steps.reduce((most, step) => Math.max(most, step.duration_ns), 0);
  const scale = scaleFor(longest, "ns");
  return {
    names: steps.map((step) => step.name),
    firm: steps.map((step) => step.slow),
    heads: lengths.map(scale.number),
    parts: shown.map((part) => ({ ...part, values: steps.map((step) => scale.of(lengthOf(step.parts_ns, part))) })),
    leftOut: steps.map((step) => scale.of(leftOut(step))),
    longest,
    scale,
  };
}

const stepsTable = (steps: readonly Step[], parts: readonly PartMeaning[]): TableData =>
  tableData<Step>(
    [
      ...fileFields<Step>({ name: "Step" }),
      ...fileFields<Step>({ duration_ns: "Step time" }, "ns"),
      ...parts.map((part) => nsColumn<Step>(part.label, (step) => lengthOf(step.parts_ns, part))),
      nsColumn("Left out of the verdict", leftOut),
    ],
    steps,
  );

/** The time of a step that no verdict and no gain counts: it is hatched in the step's bar. */
type Step = OverviewResult["steps"][number];

/** The excluded times of a step, by the idle reason of that name. */
const LEFT_OUT = {
  before_recording: (step: Step) => step.before_recording_ns,
  once: (step: Step) => step.once_ns,
  after_recording: (step: Step) => step.after_recording_ns,
  profiler: (step: Step) => step.profiler_ns,
};

/** The sum of the excluded times, ns. */
export const leftOut = (step: Step): number => sum(Object.values(LEFT_OUT), (of) => of(step));

const labelOf = (id: string, reasons: readonly PartMeaning[]): string =>
  reasons.find((reason) => reason.id === id)?.label ?? id;

export function leftOutRows(step: Step, reasons: readonly PartMeaning[], scale: Scale) {
  return Object.entries(LEFT_OUT)
    .filter(([, of]) => of(step) > 0)
    .map(([id, of]) => ({
      mark: <Swatch colour="ink" hatched />,
      name: `of it ${labelOf(id, reasons).toLowerCase()}`,
      value: scale.text(of(step)),
    }));
}

/** Metrics of a device, with the field that contains each. */
const FIGURES = [
  ["gpu_utilization", "utilization"],
  ["est_sm_efficiency", "est_sm_efficiency"],
  ["est_achieved_occupancy", "est_achieved_occupancy"],
  ["kineto_achieved_occupancy", "kineto_achieved_occupancy"],
] as const;

function Devices({ devices, tab }: { devices: readonly DeviceFigures[]; tab: Tab }) {
  const figures = FIGURES.map(([metric, field]): Column<DeviceFigures> => {
    const { label, meaning } = tab.meanings.metric(metric);
    return { id: field, label, meaning, figures: { of: (device) => device[field], unit: "fraction" } };
  });
  const names: Column<DeviceFigures>[] = [
    { id: "device", label: "GPU", width: "64px", order: (device) => device.device },
    nameColumn("name", "Name", (device) => device.name),
  ];
  return (
    <Section
      title={`This process drives ${counted(devices.length, "GPU")}`}
      sub="the busiest first; the figures above are its own"
    >
      <Table
        label="GPUs of this process"
        columns={[...names, ...figures]}
        rows={devices}
        rowKey={(device) => device.device}
        {...sorting(tab, "drives")}
      />
    </Section>
  );
}

/** The largest pieces of the step: kernels of a GPU, or ops of a CPU. Each links to its row. */
export function LargestPieces({ found, tab }: { found: Largest; tab: Tab }) {
  const lengths = found.pieces.map((piece) => piece.ns);
  const scale = scaleOf(lengths, "ns", readingOf(tab).unit);
  return (
    <Section class="largest" title={<Sentence phrase={found.title} />}>
      <p class="quiet small">
        <Sentence phrase={found.throughput} />
        <Details text={found.threads} />
      </p>
      <table>
        <thead>
          <tr>
            <td />
            <td />
            <th class="num">a step</th>
            <th class="num">
              <Sentence phrase={found.shares_of} />
            </th>
          </tr>
        </thead>
        <tbody>
          {found.pieces.map((piece) => (
            <PieceRow key={piece.row.key} {...{ piece, scale, tab }} of={found.pieces[0]!.share} />
          ))}
        </tbody>
      </table>
    </Section>
  );
}

function PieceRow({ piece, of, scale, tab }: { piece: Piece; of: number; scale: Scale; tab: Tab }) {
  const open = () => tab.update({ view: piece.view, mark: markOf(piece.row) });
  const colour = piece.view === "host" ? "cpu" : "kernel";
  return (
    <tr>
      <td class="clip">
        <button class="link" data-hint={piece.row.key} onClick={open}>
          {piece.name}
        </button>
      </td>
      <td>
        <InlineBar segments={[{ share: of ? piece.share / of : 0, colour }]} />
      </td>
      <td class="num">{scale.text(piece.ns)}</td>
      <td class="num">{percent(piece.share)}</td>
    </tr>
  );
}
