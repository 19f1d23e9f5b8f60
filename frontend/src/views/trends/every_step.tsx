/** Every step of the job, as its recorder timed them: the recorded spans are a part of these. */

import { useMemo, useState } from "preact/hooks";
import type { JobSteps, StepBin, TimedWorker } from "../../api.gen";
import { LineChart } from "../../charts/lines/line_chart";
import type { ChartLine } from "../../charts/lines/line_layout";
import type { TipContent } from "../../charts/pointer/tip";
import { tableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import type { FileColumn } from "../../components/table";
import { fileFields } from "../../components/table";
import { bytes, count, counted, ns, type Scale, scaleFor } from "../../format";
import { useRequested } from "../../server/requested";
import type { Tab } from "../props";

const NOTHING: JobSteps = { workers: [], more: 0 };

interface EveryStepProps {
  run: string;
  /** The chosen worker; its steps are shown. */
  worker: string | undefined;
  tab: Tab;
}

/** Renders nothing where the recorder timed no steps. */
export function EveryStep({ run, worker, tab }: EveryStepProps) {
  const { page } = useRequested(tab.source, run, (signal) => tab.source.jobSteps(run, signal));
  const { workers } = page ?? NOTHING;
  const timed = workers.find((each) => each.worker === worker) ?? workers[0];
  return timed ? <StepsOf timed={timed} others={workers.length - 1} /> : null;
}

const HEIGHT = 170;

function StepsOf({ timed, others }: { timed: TimedWorker; others: number }) {
  const [pointed, point] = useState<string | null>(null);
  const { bins } = timed;
  const scale = useMemo(() => scaleFor(Math.max(...bins.map(({ longest_ns }) => longest_ns)), "ns"), [bins]);
  const stops = useMemo(() => bins.map(({ step }) => ({ key: String(step), segment: 0, at: step })), [bins]);
  const segments = useMemo(() => [segmentOf(bins)], [bins]);
  const lines = useMemo(() => [lineOf(timed)], [timed]);
  const title = titleOf(timed);
  return (
    <Picture title={title} sub={subOf(timed, others)} below name="every step" table={() => tableData(COLUMNS, bins)}>
      <LineChart
        label={`${title} ${spoken(bins, scale)}`}
        height={HEIGHT}
        colour="ink"
        segments={segments}
        stops={stops}
        pad={0}
        lines={lines}
        scale={scale}
        reference={timed.pace ? { value: timed.pace.plain_ns, name: "median" } : undefined}
        hovered={pointed}
        selected={null}
        hover={point}
        select={() => {}}
        tip={(stop) => tipOf(bins[stop]!)}
      />
    </Picture>
  );
}

/** "All 48,300 steps: the slowest took 2.1 s" */
function titleOf({ steps, bins, slow }: TimedWorker): string {
  const slowest = bins.reduce((a, b) => (b.longest_ns > a.longest_ns ? b : a));
  const step = slow.find(({ duration_ns }) => duration_ns === slowest.longest_ns)?.step;
  const alone = step ?? (slowest.steps === 1 ? slowest.step : null);
  const near = alone === null ? `one of ${namesOf(slowest)}` : `step ${count(alone)}`;
  return `All ${counted(steps, "step")} of the job: the longest, ${near}, took ${ns(slowest.longest_ns)}.`;
}

function subOf({ pace, slow, worker }: TimedWorker, others: number): string {
  const profiled = pace?.differ ? `profiled steps take ${times(pace.recorded_ns / pace.plain_ns)} x as long` : "";
  const slowly = slow.length > 0 ? `${counted(slow.length, "slow step")}, ringed` : "";
  const whose = others > 0 ? worker : "";
  return ["mean step, with a band up to the longest", slowly, profiled, whose].filter(Boolean).join("; ");
}

const times = (ratio: number): string => ratio.toFixed(2);

/** "steps 8 to 15" */
const namesOf = ({ step, steps }: StepBin): string => `steps ${count(step)} to ${count(step + steps - 1)}`;

const MARKS = 5;

function segmentOf(bins: readonly StepBin[]) {
  const last = bins[bins.length - 1]!;
  const [from, to] = [bins[0]!.step, Math.max(last.step, bins[0]!.step + 1)];
  const marks = Array.from({ length: MARKS }, (_, at) => Math.round(from + ((to - from) * at) / (MARKS - 1)));
  return { from, to, caption: "step", marks: [...new Set(marks)].map((at) => ({ at, text: count(at) })) };
}

function lineOf({ worker, bins, slow }: TimedWorker): ChartLine {
  return {
    key: worker,
    name: worker,
    focus: true,
    points: bins.map(({ step, steps, mean_ns, longest_ns }, stop) => ({
      stop,
      value: mean_ns,
      low: mean_ns,
      high: longest_ns,
      slow: slow.some((each) => each.step >= step && each.step < step + steps),
    })),
  };
}

function tipOf(bin: StepBin): TipContent {
  const one = bin.steps === 1;
  const rows = [
    [one ? "Step time" : "Mean step time", ns(bin.mean_ns)],
    ...(one ? [] : [["Longest", ns(bin.longest_ns)]]),
    ...(bin.wait_ns === null ? [] : [["Waiting for a batch", ns(bin.wait_ns)]]),
    ["Garbage collection", ns(bin.collecting_ns)],
    ...(bin.rss_bytes === null ? [] : [["Memory of the process", bytes(bin.rss_bytes)]]),
  ] as const;
  const title = one ? `Step ${count(bin.step)}` : `S${namesOf(bin).slice(1)}`;
  return {
    title: bin.recorded ? `${title}, recorded by the profiler` : title,
    rows: rows.map(([name, value]) => ({ name: name!, value: value! })),
  };
}

const spoken = (bins: readonly StepBin[], scale: Scale): string =>
  `Mean steps from ${scale.number(Math.min(...bins.map(({ mean_ns }) => mean_ns)))} to ` +
  `${scale.text(Math.max(...bins.map(({ mean_ns }) => mean_ns)))}.`;

const COLUMNS: readonly FileColumn<StepBin>[] = [
  ...fileFields<StepBin>({ step: "First step", steps: "Steps" }, "count"),
  ...fileFields<StepBin>({ mean_ns: "Mean step time", longest_ns: "Longest", wait_ns: "Waiting for a batch" }, "ns"),
  ...fileFields<StepBin>({ collecting_ns: "Garbage collection" }, "ns"),
  ...fileFields<StepBin>({ rss_bytes: "Memory of the process" }, "bytes"),
  { label: "Recorded", of: ({ recorded }) => (recorded ? "yes" : "") },
];
