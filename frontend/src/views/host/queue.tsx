import { useMemo } from "preact/hooks";
import type { HostResult, HostStep } from "../../api.gen";
import type { BinLayer, Bins } from "../../charts/time/time_bins";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { ns, scaleFor } from "../../format";
import { sentence } from "../../phrase";
import { lengthOf, rangeOf } from "../../time_range";
import { ShowAll } from "../chips";
import { shownStep, zoomWithin } from "../choices";
import { type HostPart, titleOf } from "../props";
import { QueueChart } from "./charts/queue_chart";

/** The queue of one step over time, with the phases above it and the device below. */
export function QueuePicture({ result, titles, tab, name }: HostPart) {
  const at = shownStep(result.steps, tab.state);
  const step = result.steps[at]!;
  const length = step.end_ns - step.start_ns;
  const zoom = zoomWithin(tab.state, rangeOf(step));
  const drawn = useMemo(() => levelsOf(result), [result]);
  const title = titleOf({ titles }, "queue");
  const choose = (next: HostStep) => tab.update({ step: next.name, zoom: null });
  return (
    <Picture
      title={title}
      name={`queue ${name} step ${step.name}`}
      table={() => tableOf(result, step)}
      sub={
        <>
          step {step.name}, {zoom ? `${ns(lengthOf(zoom))} of ` : ""}
          {ns(length)} <ShowAll zoom={zoom} tab={tab} />
        </>
      }
      tools={
        <StepButtons
          steps={result.steps}
          at={at}
          choose={choose}
          open={() => tab.update({ view: "timeline", step: step.name, zoom })}
        />
      }
    >
      <QueueChart
        label={spokenOf(result, step, sentence(title))}
        from={step.start_ns}
        to={step.end_ns}
        zoom={zoom}
        setZoom={(next) => tab.update({ zoom: next, step: step.name })}
        phases={step.phase_spans.map((span) => ({
          label: span.label,
          from: span.start_ns,
          to: span.end_ns,
          inner: span.inner,
        }))}
        {...drawn}
        scale={scaleFor(length, "ns")}
      />
    </Picture>
  );
}

interface StepButtonsProps {
  steps: readonly HostStep[];
  at: number;
  choose(step: HostStep): void;
  open(): void;
}

function StepButtons({ steps, at, choose, open }: StepButtonsProps) {
  const [before, after] = [steps[at - 1], steps[at + 1]];
  return (
    <div class="step-buttons">
      {steps.length > 1 && (
        <>
          <button
            disabled={!before}
            aria-label="Step before"
            data-hint={before && `Step ${before.name}`}
            onClick={() => before && choose(before)}
          >
            <svg viewBox="0 0 8 8" aria-hidden="true">
              <path d="M5.500 1l-3 3 3 3" />
            </svg>
          </button>
          <button
            disabled={!after}
            aria-label="Step after"
            data-hint={after && `Step ${after.name}`}
            onClick={() => after && choose(after)}
          >
            <svg viewBox="0 0 8 8" aria-hidden="true">
              <path d="M2.500 1l3 3-3 3" />
            </svg>
          </button>
        </>
      )}
      <button class="link" onClick={open}>
        Timeline
      </button>
    </div>
  );
}

/** The kinds of work of the device, and the field that contains the bins of each. */
const WORK = [
  ["kernel", "kernel_permille"],
  ["communication", "communication_permille"],
  ["memory", "copy_permille"],
] as const;

function levelsOf(result: HostResult) {
  const start = result.start_ns;
  const bins = (bin: number, values: Bins["values"]): Bins => ({ start, bin, values });
  const levels = result.device_levels;
  return {
    means: result.queue.map((level) => bins(level.bin_ns, level.mean_permille)),
    peaks: result.queue.map((level) => bins(level.bin_ns, level.peak)),
    runAhead: levels.map((level) => bins(level.bin_ns, level.run_ahead_ns)),
    device: WORK.map(([id, field]): BinLayer => {
      const {
        label: name,
        colour,
        hatched,
      } = result.segments.find((segment) => segment.id === id) ?? { label: id, colour: id, hatched: false };
      return { name, colour, hatched, levels: levels.map((level) => bins(level.bin_ns, level[field])) };
    }),
  };
}

function spokenOf(result: HostResult, step: HostStep, title: string): string {
  const peak = result.launches?.queue_max ?? 0;
  const phases = step.phase_spans
    .filter((span) => !span.inner)
    .map((span) => `${span.label} ${ns(span.end_ns - span.start_ns)}`);
  return (
    `${title}. Queue depth over step ${step.name}, ${ns(step.end_ns - step.start_ns)}; in the ` +
    `span it peaks at ${peak}. ${phases.length > 0 ? `Phases: ${phases.join(", ")}. ` : ""}Below ` +
    "it, when the GPU works."
  );
}

function tableOf({ queue, start_ns: start }: HostResult, step: HostStep): TableData {
  const level = queue[queue.length - 1]!;
  const first = Math.max(0, Math.floor((step.start_ns - start) / level.bin_ns));
  const last = Math.ceil((step.end_ns - start) / level.bin_ns);
  const rows = level.mean_permille
    .slice(first, last)
    .map((mean, at) => [
      Math.max(0, start + (first + at) * level.bin_ns - step.start_ns),
      mean / 1000,
      level.peak[first + at] ?? null,
    ]);
  return {
    columns: [
      { label: "Time", unit: "ns" },
      { label: "Queue, mean", unit: "number" },
      { label: "Queue, peak", unit: "count" },
    ],
    rows,
  };
}
