/** The job to which a rank belongs: what determines its step, this rank's part in it, and what to do first. */

import type { JobRanks, RanksPage } from "../../api.gen";
import { Details } from "../../components/details";
import { Sentence } from "../../components/sentence";
import { counted, ns } from "../../format";
import { JobPath } from "../job_path";
import type { Tab } from "../props";

interface OfJobProps {
  page: RanksPage;
  /** Id of the span that is shown. */
  span: string;
  tab: Tab;
}

/** Renders nothing where fewer than two ranks have been read: then the page is everything there is. */
export function OfJob({ page, span, tab }: OfJobProps) {
  const { job, headline, path, insights, spans } = page;
  if (job === null) return null;
  const first = insights[0];
  return (
    <section class="of-job" aria-label="The job">
      <div class="head">
        <h2>
          The job, {counted(job.ranks.length, "rank")}: <Sentence phrase={headline.verdict} />
        </h2>
        {job.path && <Details text={path} />}
        <button class="link" onClick={() => tab.update({ view: "ranks" })}>
          Open {tab.meanings.viewTitle("ranks")}
        </button>
      </div>
      {job.path && <JobPath path={job.path} />}
      {path && !job.path && (
        <p class="quiet">
          <Sentence phrase={path} />
        </p>
      )}
      <p>{ownPart(job, page.caused_ns, spans.indexOf(span))}</p>
      {first && (
        <p>
          First:{" "}
          <b>
            <Sentence phrase={first.title} />
          </b>
          {first.gain_ns > 0 && `, up to ${ns(first.gain_ns)} a step`}.
        </p>
      )}
    </section>
  );
}

/** "This is rank 3. It waits 422 ms a step for others, and makes each of them wait 2 ms." */
function ownPart(job: JobRanks, caused: readonly number[], at: number): string {
  const row = job.ranks[at];
  if (!row) return "This span is not among the spans of the job that are compared.";
  const own = `This is rank ${row.rank}.`;
  const steps = Math.max(1, job.matched_steps);
  if (job.unmatched !== null || caused.length === 0) return own;
  const waits = `It waits ${ns(row.exposed_wait_ns / steps)} a step for others`;
  return `${own} ${waits}, and makes each of them wait ${ns(caused[at] ?? 0)}.`;
}
