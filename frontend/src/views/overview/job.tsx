/**
 * The job to which a rank belongs: what determines its step, this rank's part in it, what to do first, and what ranks
 * exchange.
 */

import type { CollectiveRow, Communication, JobRanks, RanksPage } from "../../api.gen";
import { Section } from "../../components/picture";
import { Details, Remark, Sentence } from "../../components/sentence";
import { type Column, Table } from "../../components/table";
import { counted, DASH, ns } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sorting, totalsOf } from "../choices";
import { JobPath } from "../mean_step_bar";
import type { Tab } from "../props";
import { figuresOf } from "../table_picture";
import { jobFirst } from "./job_first";

interface OfJobProps {
  page: RanksPage;
  /** Id of the span that is shown. */
  span: string;
  tab: Tab;
}

/**
 * Renders nothing where fewer than two ranks have been read: then the page is everything there is. Where the job says
 * what to do first, its sentence is the headline.
 */
export function OfJob({ page, span, tab }: OfJobProps) {
  const { job, headline, path, spans } = page;
  if (job === null) return null;
  return (
    <section class="of-job" aria-label="The job">
      {jobFirst(page) === null && (
        <div class="head">
          <h2>
            The job, {counted(job.ranks.length, "rank")}: <Sentence phrase={headline.verdict} />
          </h2>
          {job.path && <Details text={path} />}
          <button class="link" onClick={() => tab.update({ view: "ranks" })}>
            Open {tab.meanings.viewTitle("ranks")}
          </button>
        </div>
      )}
      {job.path && <JobPath path={job.path} />}
      <Remark phrase={job.path ? null : path} class="quiet" />
      <p class="quiet small aside">{ownPart(job, page.caused_ns, spans.indexOf(span))}</p>
    </section>
  );
}

/** "Rank 3 waits 422 ms a step, and makes each other rank wait 2 ms." */
function ownPart(job: JobRanks, caused: readonly number[], at: number): string {
  const row = job.ranks[at];
  if (!row) return "This span is not among the spans of the job that are compared.";
  if (job.unmatched !== null || caused.length === 0) return `This is rank ${row.rank}.`;
  const waits = ns(row.exposed_wait_ns / Math.max(1, job.matched_steps));
  return `Rank ${row.rank} waits ${waits} a step, and makes each other rank wait ${ns(caused[at] ?? 0)}.`;
}

/**
 * What ranks exchange in a step: which collectives, how many bytes, and for how long nothing computes at the same
 * time.
 */
export function Collectives({ found, tab }: { found: Communication; tab: Tab }) {
  return (
    <Section title="What do the ranks exchange?" sub={`${totalsOf(tab)}; the most exposed first`}>
      <Table
        label="Collectives"
        columns={columnsOf(tab.meanings)}
        rows={found.rows}
        rowKey={keyOf}
        {...sorting(tab, "collectives")}
      />
    </Section>
  );
}

const keyOf = (row: CollectiveRow) => [row.kind, row.group, row.ranks, row.dtype].join();

const NO_TYPE = "The trace does not record the type of its elements.";
const NO_WAITS = "Without a GPU, waits for slower ranks cannot be estimated from one rank.";
const NO_GROUP = "The trace does not record the process group.";

function columnsOf(meanings: Meanings): Column<CollectiveRow>[] {
  const figure = (metric: string, of: (row: CollectiveRow) => number | null) =>
    figuresOf<CollectiveRow>(meanings)(metric, metric, 112, of, {
      adds: "step",
      ...(metric.endsWith("_ns") && { siblings: "time" }),
    });
  return [
    { id: "kind", label: "Collective", order: (row) => row.label },
    {
      id: "dtype",
      label: "Type",
      width: "96px",
      missing: NO_TYPE,
      order: (row) => row.dtype,
    },
    {
      id: "group",
      ...columnHead(meanings, "collective_group"),
      width: "140px",
      cell: groupText,
      missing: NO_GROUP,
      order: (row) => row.group,
    },
    figure("collective_count", (row) => row.count),
    figure("collective_bytes", (row) => row.bytes),
    figure("collective_running_ns", (row) => row.running_ns),
    figure("collective_exposed_ns", (row) => row.exposed_ns),
    { ...figure("collective_wait_ns", (row) => row.wait_ns), missing: NO_WAITS },
  ];
}

function groupText({ group, ranks }: CollectiveRow): string {
  const parts = [group, ranks === null ? null : counted(ranks, "rank")].filter((each) => each !== null);
  return parts.length ? parts.join(", ") : DASH;
}
