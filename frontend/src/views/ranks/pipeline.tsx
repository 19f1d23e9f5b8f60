/** The pipeline of a job: stages against time with their idle time by cause, and the same in figures. */

import { useState } from "preact/hooks";
import { stepInTimeline } from "../../address/selection";
import type { Pipeline, PipelineStep, StageRow } from "../../api.gen";
import { Swatch } from "../../colour";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { type Column, fileFields } from "../../components/table";
import { counted, ns } from "../../format";
import type { Meanings } from "../../meanings";
import type { TimeRange } from "../../time_range";
import { titleOf } from "../props";
import { figuresOf, TablePicture } from "../table_picture";
import { seenAround, WholeStep } from "./charts/lane_plot";
import { CAUSE_COLOURS, type Cause, KINDS, Stages } from "./charts/stages";
import type { RankPart } from "./rows";

const CAUSES: readonly Cause[] = ["schedule", "imbalance", "ordering", "transfer"];

type PipelineProps = RankPart & { found: Pipeline };

export function PipelinePicture(props: PipelineProps) {
  const { page, found, name, tab } = props;
  return (
    <>
      {found.shown && <Shown {...props} step={found.shown} />}
      {page.pipeline && (
        <p class="quiet">
          <Sentence phrase={page.pipeline} />
        </p>
      )}
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
  const labels = wordsOf(tab.meanings);
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

const wordsOf = (meanings: Meanings) => {
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
