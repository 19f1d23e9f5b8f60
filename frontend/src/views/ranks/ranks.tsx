/** Ranks: any metric by rank and step, who waits for whom and why, and what the ranks exchange. */

import { useMemo } from "preact/hooks";
import { keysOf, selections, stepInTimeline } from "../../address/selection";
import type { JobRanks, JobReplay, Metric, Phrase, RanksPage, RanksTitleId, WhatIfTexts } from "../../api.gen";
import { Code } from "../../components/copy";
import { NoPicture } from "../../components/picture";
import { Details, Remark, Sentence } from "../../components/sentence";
import type { Column } from "../../components/table";
import { counted } from "../../format";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { JobPath } from "../mean_step_bar";
import { type RanksViewProps, type Tab, titleOf } from "../props";
import { figureColumn, TablePicture } from "../table_picture";
import { More } from "../tiles";
import { ToDo } from "../to_do";
import { JobCollectives, MessagePairs, Messages } from "./collectives";
import { JobTimelinePicture } from "./job_timeline";
import { MapPicture } from "./map_picture";
import { PipelinePicture } from "./pipeline";
import { type MapRow, rowsOf, useRankMap } from "./rows";
import { Waits } from "./waits";

export function Ranks(props: RanksViewProps) {
  const { job, read, found } = props.page;
  return (
    <div class="view" data-view="ranks">
      {read < found && (
        <p class="quiet" role="status">
          {read} of {counted(found, "rank")} are read.{read > 0 && " What is said here is of those."}
        </p>
      )}
      {job === null ? <OneRank reading={read < found} /> : <OfJob {...props} job={job} />}
    </div>
  );
}

function OfJob({ page, job, chosen, tab }: RanksViewProps & { job: JobRanks }) {
  const { meanings, state } = tab;
  const metrics = useMemo(() => metricsOf(page, job, meanings), [page, job, meanings]);
  const metric = metrics.find(({ id }) => id === state.metric) ?? firstOf(job, metrics);
  const version = `${page.read}`;
  const answer = useRankMap(tab.source, page.spans[0]!, metric.id, version);
  const rows = useMemo(() => rowsOf(job, page.caused_ns), [job, page]);
  const byId = useMemo(() => new Map(selections(tab.index).map((each) => [each.span.id, each])), [tab.index]);
  const keys = (row: MapRow) => {
    const selection = byId.get(row.span);
    return selection ? keysOf(selection) : {};
  };
  const name = chosen.run.name;
  const part = { page, rows, keysOf: keys, name, tab };
  const map = (
    <MapPicture
      title={titleOf(page, TITLES[metric.id] ?? "map")}
      sub={metric.id in TITLES ? undefined : metric.label}
      rows={rows}
      metric={metric}
      metrics={metrics}
      answer={answer}
      chosen={chosen.span.id}
      choose={(row, step) => tab.update({ ...keys(row), step })}
      open={(row, step) => tab.update({ ...keys(row), ...stepInTimeline(step) })}
      name={name}
      tab={tab}
    />
  );
  return (
    <>
      {job.path && <JobPath path={job.path} />}
      <Remark phrase={job.path ? null : page.path} class="quiet" />
      {page.insights.length > 0 && <ToDo page={{ ...page, insights_remark: null }} here="ranks" tab={tab} />}
      <Waits
        page={page}
        job={job}
        rows={rows}
        choose={(row) => tab.update({ ...keys(row), view: "overview" })}
        tab={tab}
      />
      {job.pipeline && <PipelinePicture {...part} found={job.pipeline} />}
      {job.clocks.reason === null && job.matched_steps > 0 && <JobTimelinePicture {...part} job={job} />}
      {job.steps.length > 1 && map}
      {job.what_if && page.what_if && <WhatIf found={job.what_if} texts={page.what_if} name={name} tab={tab} />}
      {job.what_if_reason && job.unmatched?.code !== job.what_if_reason.code && (
        <NoPicture title={PREDICTIONS} why={tab.meanings.explain(job.what_if_reason)} />
      )}
      <JobCollectives page={page} job={job} name={name} tab={tab} />
      <Messages job={job} name={name} tab={tab} />
      <MessagePairs job={job} name={name} tab={tab} />
      {job.unmatched === null && job.clocks.reason !== null && (
        <NoPicture title={titleOf(page, "lanes")} why={titleOf(page, "clocks")} />
      )}
      {job.steps.length <= 1 && (
        <More of={["any figure by rank"]} tab={tab}>
          {map}
        </More>
      )}
    </>
  );
}

const TITLES: Readonly<Record<string, RanksTitleId>> = { rank_caused_ns: "map.caused", rank_wait_ns: "map.waits" };

/** Waits by rank and step, where they are known, and the metrics of the catalogue that any rank has. */
const metricsOf = ({ caused_ns }: RanksPage, job: JobRanks, meanings: Meanings): Metric[] => [
  ...(caused_ns.length > 0 ? ["rank_caused_ns", "rank_wait_ns"].map(meanings.metric) : []),
  ...meanings.metrics.filter(({ id }) => job.metrics.includes(id)),
];

/**
 * Ranks that wait for each other take equally long: then their waits distinguish them. Of ranks that are late together
 * a different one is last in each step, but none of them waits.
 */
const firstOf = ({ balance }: JobRanks, metrics: readonly Metric[]): Metric => {
  const shown = balance === "balanced" ? "step_time" : balance === "late_ranks" ? "rank_wait_ns" : null;
  return metrics.find(({ id }) => id === shown) ?? metrics[0]!;
};

const SNIPPET = `torch.profiler.profile(
    ...,
    schedule=torch.profiler.schedule(wait=5, warmup=2, active=5),  # the same steps on every rank
    on_trace_ready=torch.profiler.tensorboard_trace_handler(
        "runs/ddp", worker_name=f"rank{torch.distributed.get_rank()}"
    ),
)`;

/** How to record the other ranks: the headline says what to do, this is the code. */
function OneRank({ reading }: { reading: boolean }) {
  if (reading) return null;
  return (
    <section class="unknown" aria-label="Record all ranks">
      <Code text={SNIPPET} />
    </section>
  );
}

const PREDICTIONS = "What a step could take";

interface WhatIfRow {
  text: Phrase;
  step_ns: number;
}

/** What a step of the job would take after changes to its ranks, and with more of them: a sentence and a bar each. */
function WhatIf({ found, texts, name, tab }: { found: JobReplay; texts: WhatIfTexts; name: string; tab: Tab }) {
  const { changes, larger } = found;
  const rows = [
    { text: texts.replay, step_ns: found.replayed_step_ns },
    ...texts.changes.map((text, at) => ({ text, step_ns: changes[at]!.step_ns })),
    ...texts.larger.map((text, at) => ({ text, step_ns: larger[at]!.step_ns })),
  ];
  if (rows.length === 1)
    return (
      <p class="quiet small">
        <Sentence phrase={texts.replay} />
        <Details text={texts.remark} />
      </p>
    );
  const longest = Math.max(1, ...rows.map(({ step_ns }) => step_ns));
  const columns: Column<WhatIfRow>[] = [
    {
      id: "change",
      label: "Prediction",
      cell: ({ text }) => (
        <span class="prediction">
          <Sentence phrase={text} />
        </span>
      ),
      file: [{ label: "Prediction", of: ({ text }) => sentence(text) }],
    },
    {
      ...figureColumn("step", "Step", 0, "ns", ({ step_ns }: WhatIfRow) => step_ns),
      width: "30%",
      bar: ({ step_ns }) => [{ share: step_ns / longest, colour: "kernel" }],
    },
  ];
  return (
    <TablePicture
      title={PREDICTIONS}
      sub="est."
      details={texts.remark}
      name={`predictions ${name}`}
      label="Predictions for the job"
      columns={columns}
      rows={rows}
      rowKey={({ text }) => sentence(text)}
      order={null}
      tab={tab}
    />
  );
}
