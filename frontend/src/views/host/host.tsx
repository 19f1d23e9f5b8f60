/** Why the GPU is idle: what the host does meanwhile, where it launches work, and which calls block. */

import type { HostResult, PartMeaning, PhaseRow, Phrase, Segment } from "../../api.gen";
import { recordingOf } from "../../components/about";
import { Legend } from "../../components/legend";
import { NoPicture, Section } from "../../components/picture";
import { MeantList, Remark, Words } from "../../components/sentence";
import type { Column } from "../../components/table";
import { ns, type Scale, scaleFor, text } from "../../format";
import { largestOf } from "../../lists";
import type { Meanings } from "../../meanings";
import { hiddenParts, keysOfHidden, totalsOf } from "../choices";
import { pairsOf } from "../compare/difference";
import { PartDifferences } from "../compare/parts";
import { type MeanStep, MeanStepBar, stepName } from "../mean_step_bar";
import { type HostPart, type SpanViewProps, titleOf } from "../props";
import { barColumn, figureColumn, figuresOf, TablePicture } from "../table_picture";
import { More, SeriesTiles } from "../tiles";
import { ToDo } from "../to_do";
import { BlockingCalls } from "./blocking";
import { QueuePicture } from "./queue";
import { Ranges } from "./ranges";
import { Reasons, SeveralGpus } from "./reasons";
import { Sites } from "./sites";
import { Copies, CpuOps, Pauses, SlowSteps } from "./small_tables";

export function Host({ page, tab, compared }: SpanViewProps<"host">) {
  const { result, head } = page;
  const part: HostPart = {
    result,
    steps_by: head.steps_by,
    titles: page.titles,
    tab,
    name: recordingOf(head),
    off: hiddenParts(tab.state),
    compared,
  };
  if (result.device === null) {
    return (
      <div class="view" data-view="host">
        {!result.cpu && result.phases.length === 0 && (
          <section class="unknown">
            <h2>Why is the GPU idle?</h2>
            <Remark phrase={result.unknown && tab.meanings.explain(result.unknown)} class="quiet" />
          </section>
        )}
        <div class="split host-split">
          {result.cpu && <CpuOps {...part} work={result.cpu} />}
          <div class="column">
            <ToDo page={page} here="host" tab={tab} />
            <HostPhases {...part} />
          </div>
        </div>
        {result.ranges.length > 0 && (
          <More of={["named ranges"]} tab={tab}>
            <Ranges {...part} />
          </More>
        )}
      </div>
    );
  }
  const calls = page.insights[0]?.row?.table === "blocking";
  const launching = (
    <>
      {result.steps.length > 0 &&
        result.queue.length > 0 &&
        (result.launches?.starved_share == null ? (
          <NoPicture
            title={titleOf(page, "queue")}
            why="No work of the GPU is recorded with the call that launches it."
          />
        ) : (
          <QueuePicture {...part} />
        ))}
      <Sites {...part} />
    </>
  );
  const byStep = result.steps.length > 1 || result.phases.length > 1;
  return (
    <div class="view" data-view="host">
      {result.segments.length > 0 && <HostMeanStep {...part} />}
      <ToDo page={page} here="host" tab={tab} />
      {calls ? <BlockingCalls {...part} /> : launching}
      {result.several_devices && (
        <div class="split halves">
          <SeveralGpus {...part} several={result.several_devices} />
        </div>
      )}
      <More
        of={[
          page.titles.answer !== undefined && "CPU limit",
          calls ? "launch queue" : result.blocking.length > 0 && "blocking calls",
          byStep && "idle time by step",
          result.ranges.length > 0 && "ranges",
          result.copies.length > 0 && "copies",
          result.grown.length > 0 && "slow steps",
          result.pauses.length > 0 && "pauses",
          result.tiles.length > 0 && "launches",
        ]}
        tables={["slow", "pauses", calls ? "sites" : "blocking"]}
        tab={tab}
      >
        {page.titles.answer && <Answer {...part} answer={page.titles.answer} />}
        {calls ? launching : result.blocking.length > 0 && <BlockingCalls {...part} />}
        <div class="split halves">
          {byStep && <Reasons {...part} />}
          <Ranges {...part} />
          {result.copies.length > 0 && <Copies {...part} />}
          {result.grown.length > 0 && <SlowSteps {...part} />}
          {result.pauses.length > 0 && <Pauses {...part} />}
        </div>
        {result.tiles.length > 0 && (
          <SeriesTiles label="Launches of this span" tiles={result.tiles} page={page} tab={tab} compared={compared} />
        )}
        <Words view="host" />
      </More>
    </div>
  );
}

/** Whether the CPU is the limit, as a sentence, and the figures behind it, each with its meaning. */
function Answer({ answer, result, tab: { meanings } }: HostPart & { answer: Phrase }) {
  const figures = Object.entries(result.figures).map(([id, value]) => ({ ...meanings.metric(id), value }));
  return (
    <Section class="" title="Is the CPU the limit?">
      <Remark phrase={answer} class="quiet" />
      <MeantList
        of={figures.map(({ label, value, unit, meaning }) => ({ label: `${label}, ${text(value, unit)}`, meaning }))}
      />
    </Section>
  );
}

/** How the host spends its time in each phase, where there is no GPU to wait for. */
function HostPhases({ result, tab, name }: HostPart) {
  const rows = result.phases.filter((phase) => phase.host_ns > 0);
  if (rows.length === 0) return null;
  return (
    <TablePicture
      title="Which phase takes the step?"
      sub={totalsOf(tab)}
      name={`phases ${name}`}
      label="Phases of the mean step"
      columns={columnsOf(rows, result, tab.meanings)}
      rows={rows}
      rowKey={(row) => row.phase}
      order="phases"
      tab={tab}
    />
  );
}

function columnsOf(
  rows: readonly PhaseRow[],
  { mean_step_ns: whole }: HostResult,
  meanings: Meanings,
): Column<PhaseRow>[] {
  const longest = largestOf(rows, (row) => row.host_ns);
  return [
    { id: "phase", label: "Phase", width: "200px", order: (row) => row.label },
    barColumn((row) => [{ share: row.host_ns / longest, colour: row.phase === "data_loading" ? "data" : "cpu" }]),
    figureColumn("host", "Host", 90, "ns", (row) => row.host_ns, { adds: "step" }),
    figuresOf<PhaseRow>(meanings)("share", "phase_share", 70, (row) => (whole ? row.host_ns / whole : null)),
  ];
}

/** The mean step: the GPU's work on the left, its waiting on the right. */
function HostMeanStep({ result, tab, off, name, compared }: HostPart) {
  const { mean_step_ns: whole } = result;
  const segments = result.segments.filter((segment) => segment.ns > 0);
  const other = compared && compared.page.result.segments.length > 0 ? compared.page.result : null;
  const { works, waits } = sumsOf(segments);
  const gpu = gpuOf(result);
  return (
    <>
      <MeanStepBar
        label={(scale) => spokenOf(result, scale)}
        step={meanStep(result, compared?.own ?? stepName(result.steps.length), tab.meanings)}
        other={other && meanStep(other, compared!.name, tab.meanings)}
        apart={compared?.unlike ?? false}
        braces={[
          { label: `${gpu} works`, ns: works },
          { label: `${gpu} waits`, ns: waits },
        ]}
        off={off}
      >
        <Legend
          label="Parts of the mean step. A button shows or hides its part."
          scale={scaleFor(Math.max(whole, other?.mean_step_ns ?? 0), "ns")}
          off={off}
          choose={(next) => tab.update(keysOfHidden(next))}
          parts={segments.map((segment) => ({
            meaning: meaningOf(segment, tab.meanings),
            ns: segment.ns,
            share: whole ? segment.ns / whole : 0,
            absent: undefined,
          }))}
        />
      </MeanStepBar>
      {compared && other && (
        <PartDifferences
          name={compared.name}
          own={compared.own}
          parts={pairsOf(result.segments, other.segments)}
          own_ns={whole}
          other_ns={other.mean_step_ns}
          file={name}
          tab={tab}
        />
      )}
    </>
  );
}

const meanStep = ({ segments, mean_step_ns }: HostResult, name: string, meanings: Meanings): MeanStep => ({
  name,
  ns: mean_step_ns,
  parts: segments
    .filter((segment) => segment.ns > 0)
    .map((segment) => ({
      ...meaningOf(segment, meanings),
      ns: segment.ns,
      text: segment.colour === "cpu" ? segment.label.split(", ")[1] : undefined,
    })),
});

/** The meaning of an idle segment is that of its reasons; work means what that part of a step does. */
function meaningOf(
  { id, label, colour, hatched, works, reasons }: Segment,
  { parts, idle_reasons }: Meanings,
): PartMeaning {
  const work = id === "memory" ? "memcpy" : id;
  const of = works
    ? parts.filter((part) => part.id === work)
    : idle_reasons.filter((each) => reasons.includes(each.id));
  return { id, label, colour, hatched, works, meaning: of.map(({ meaning }) => meaning).join(" ") };
}

function sumsOf(segments: readonly Segment[]): { works: number; waits: number } {
  const sum = (works: boolean) =>
    segments.reduce((total, segment) => total + (segment.works === works ? segment.ns : 0), 0);
  return { works: sum(true), waits: sum(false) };
}

/** The GPU whose step is shown, with its number where there are others. */
const gpuOf = ({ devices, device }: HostResult): string => (devices.length > 1 ? `GPU ${device}` : "GPU");

function spokenOf(result: HostResult, scale: Scale): string {
  const { segments, mean_step_ns: whole } = result;
  const { works, waits } = sumsOf(segments);
  const causes = segments
    .filter((segment) => !segment.works && segment.ns > 0)
    .map((segment) => `${segment.label} ${scale.text(segment.ns)}`);
  return (
    `Mean step of ${ns(whole)}: ${result.devices.length > 1 ? gpuOf(result) : "the GPU"} works ` +
    `${ns(works)} and waits ${ns(waits)}${causes.length > 0 ? `: ${causes.join(", ")}` : ""}.`
  );
}
