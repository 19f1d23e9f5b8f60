/** The pipeline of a job: stages against time with their idle time by cause, and the same in figures. */

import { useMemo, useState } from "preact/hooks";
import { stepInTimeline } from "../../address/selection";
import type { BubblePiece, PassPiece, Pipeline, PipelineStep, StageRow } from "../../api.gen";
import { type Pen, stripes } from "../../charts/canvas/canvas";
import type { TipContent } from "../../charts/pointer/tip";
import { type Colour, Swatch } from "../../colour";
import { Picture } from "../../components/picture";
import { Remark } from "../../components/sentence";
import { type Column, fileFields } from "../../components/table";
import { counted, fine, ns } from "../../format";
import type { Meanings } from "../../meanings";
import type { TimeRange, TimeScale } from "../../time_range";
import { titleOf } from "../props";
import { figuresOf, TablePicture } from "../table_picture";
import {
  isTall,
  type LaneLayout,
  LanePlot,
  type LanePlotProps,
  laneLayout,
  type Painted,
  RowNames,
  seenAround,
  WholeStep,
} from "./charts/lane_plot";
import type { RankPart } from "./rows";

const CAUSES: readonly Cause[] = ["schedule", "imbalance", "ordering", "transfer"];

type PipelineProps = RankPart & { found: Pipeline };

export function PipelinePicture(props: PipelineProps) {
  const { page, found, name, tab } = props;
  return (
    <>
      {found.shown && <Shown {...props} step={found.shown} />}
      <Remark phrase={page.pipeline} class="quiet" />
      <TablePicture
        title="What does each stage do in a step?"
        sub={`mean of ${counted(found.steps, "step")}; a row sums to its step`}
        name={`pipeline ${name}`}
        label="Stages of the pipeline"
        columns={columnsOf(tab.meanings)}
        rows={found.rows}
        rowKey={({ rank }) => `${rank}`}
        maxRows={8}
        order={null}
        tab={tab}
      />
    </>
  );
}

function Shown({ page, found, rows, keysOf, name, tab, step }: PipelineProps & { step: PipelineStep }) {
  const [zoom, setZoom] = useState<TimeRange | null>(null);
  const labels = causeLabels(tab.meanings);
  const open = (row: number, at: number) => {
    const rank = rows.find((each) => each.rank === found.rows[row]!.rank);
    if (rank === undefined) return;
    const visible = seenAround(at + step.shift_ns[row]!, zoom, step.length_ns);
    tab.update({ ...keysOf(rank), ...stepInTimeline(step.name), zoom: visible });
  };
  const met = CAUSES.filter((each) => step.bubbles.some(({ cause }) => cause === each));
  return (
    <Picture
      title={titleOf(page, "pipeline")}
      sub={`step ${step.name}, ${ns(step.length_ns)}`}
      name={`pipeline ${name}`}
      table={() => tableOf(step, found.rows)}
    >
      <p class="rank-legend above">
        <span>
          <Swatch colour="kernel" /> passes of micro-batches, backward in a second shade
        </span>
        {met.map((cause) => (
          <span key={cause}>
            <Swatch colour={CAUSE_COLOURS[cause]} hatched /> {labels[cause].toLowerCase()}
          </span>
        ))}
        <WholeStep zoom={zoom} setZoom={setZoom} />
      </p>
      <Stages
        label={`What the ${found.stages} stages of the pipeline compute in step ${step.name}, and why they idle.`}
        step={step}
        rows={found.rows}
        words={labels}
        zoom={zoom}
        setZoom={setZoom}
        open={open}
      />
    </Picture>
  );
}

const causeLabels = (meanings: Meanings) => {
  const [schedule, imbalance, ordering, transfer] = CAUSES.map(
    (cause) => meanings.metric(`pipeline_${cause}_ns`).label,
  );
  return { schedule: schedule!, imbalance: imbalance!, ordering: ordering!, transfer: transfer! };
};

const TIMES = ["step", "forward", "backward", "other", ...CAUSES] as const;

function columnsOf(meanings: Meanings): Column<StageRow>[] {
  const figure = figuresOf<StageRow>(meanings);
  return [
    {
      id: "stage",
      label: "Stage",
      width: "120px",
      cell: ({ stages, rank }) => `${stages.join(", ")}, rank ${rank}`,
      file: fileFields<StageRow>({ rank: "Rank" }),
    },
    ...TIMES.map((each) =>
      figure(each, `pipeline_${each}_ns`, 88, (row) => row[`${each}_ns`], each === "step" ? {} : { siblings: "time" }),
    ),
  ];
}

const tableOf = ({ passes, bubbles }: PipelineStep, rows: readonly StageRow[]) => ({
  columns: [
    { label: "Rank" },
    { label: "Does" },
    { label: "Stage" },
    { label: "Micro-batch" },
    { label: "From", unit: "ns" as const },
    { label: "To", unit: "ns" as const },
  ],
  rows: [
    ...passes.map((each) => [
      `rank ${rows[each.row]!.rank}`,
      KINDS[each.kind]!,
      each.stage,
      each.micro_batch,
      each.from_ns,
      each.to_ns,
    ]),
    ...bubbles.map((each) => [
      `rank ${rows[each.row]!.rank}`,
      `idle: ${each.cause}`,
      null,
      null,
      each.from_ns,
      each.to_ns,
    ]),
  ],
});

type Cause = BubblePiece["cause"];

const CAUSE_COLOURS: Readonly<Record<Cause, Colour>> = {
  schedule: "other",
  imbalance: "cpu",
  ordering: "blocking",
  transfer: "comm",
};

/** Names for the values of PassPiece.kind. */
const KINDS = ["forward", "backward", "backward, inputs", "backward, weights"] as const;

interface StagesProps extends Pick<LanePlotProps, "label" | "zoom" | "setZoom" | "open"> {
  step: PipelineStep;
  rows: readonly StageRow[];
  words: Readonly<Record<Cause, string>>;
}

const GUTTER = 124;

/**
 * The stages of a pipeline against time: forward passes in the plain colour, backward passes in another shade of it,
 * and between them the idle time of a stage, hatched in the colour of its cause.
 */
function Stages({ step, rows, words, ...plot }: StagesProps) {
  const layout = useMemo(() => laneLayout(rows.length, []), [rows.length]);
  return (
    <LanePlot
      {...plot}
      layout={layout}
      length_ns={step.length_ns}
      gutter={GUTTER}
      paint={(pen, painted) => paintStages(pen, step, painted)}
      of={[step]}
      tip={(place) => tipOf(step, rows, words, place)}
      over={() => <RowNames layout={layout} nameOf={(row) => nameOf(rows[row]!)} />}
    />
  );
}

const nameOf = ({ rank, stages }: StageRow): string =>
  `stage ${stages.length > 2 ? `${stages[0]} …` : stages.join(", ")} · rank ${rank}`;

function tipOf(
  step: PipelineStep,
  rows: readonly StageRow[],
  words: Readonly<Record<Cause, string>>,
  { row, at }: { row: number; at: number },
): TipContent {
  const here = (each: PassPiece | BubblePiece) => each.row === row && each.from_ns <= at && at < each.to_ns;
  const pass = step.passes.find(here);
  const bubble = pass ? undefined : step.bubbles.find(here);
  const length = ({ from_ns, to_ns }: PassPiece | BubblePiece) => ns(to_ns - from_ns);
  return {
    title: `${nameOf(rows[row]!)}, ${fine(at)}`,
    rows: [
      ...(pass
        ? [{ name: `${KINDS[pass.kind]}, micro-batch ${pass.micro_batch}, stage ${pass.stage}`, value: length(pass) }]
        : []),
      ...(bubble ? [{ name: `Idle: ${words[bubble.cause].toLowerCase()}`, value: length(bubble) }] : []),
      ...(pass || bubble ? [] : [{ name: "Its own", value: "between passes" }]),
    ],
    act: "A press opens this rank here.",
  };
}

/** A pass shows the number of its micro-batch where it is at least this wide. */
const NUMBER_PX = 16;

function paintStages(pen: Pen, step: PipelineStep, { layout, time, palette, width }: Painted): void {
  pen.clearRect(0, 0, width, layout.height);
  const hatches = new Map<Cause, CanvasPattern | string>();
  for (const { row, cause, from_ns, to_ns } of step.bubbles) {
    const [fill] = palette.fills.get(CAUSE_COLOURS[cause])!;
    const hatch = hatches.get(cause) ?? stripes(pen, fill!.plain);
    hatches.set(cause, hatch);
    for (const style of [fill!.dim, hatch]) box(pen, style, layout, time, row, from_ns, to_ns);
  }
  const [forward, , backward] = palette.fills.get("kernel")!;
  pen.font = palette.fonts.axis;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { row, kind, micro_batch, from_ns, to_ns } of step.passes) {
    const fill = kind === 0 ? forward! : backward!;
    const across = box(pen, fill.plain, layout, time, row, from_ns, to_ns);
    if (across < NUMBER_PX || !isTall(layout, row)) continue;
    pen.fillStyle = fill.ink;
    const middle = (time.clampedX(from_ns) + time.clampedX(to_ns)) / 2;
    pen.fillText(`${micro_batch}`, middle, layout.tops[row]! + layout.heights[row]! / 2 + 1);
  }
}

/** Draws a box and returns its width in pixels. A hairline separates neighbours that have room for one. */
function box(
  pen: Pen,
  style: CanvasPattern | string,
  { tops, heights }: LaneLayout,
  time: TimeScale,
  row: number,
  from: number,
  to: number,
): number {
  const [left, right] = [time.clampedX(from), time.clampedX(to)];
  const across = right - left;
  if (across <= 0) return 0;
  pen.fillStyle = style;
  pen.fillRect(left, tops[row]!, across > 3 ? across - 1 : across, heights[row]!);
  return across;
}
