/** The Overview of a rank whose job says what to do first. */

import type { Headline, PageOf, RanksPage } from "../../api.gen";

/** The headline of the job. Null where the job has no card: then the rank's own step comes first. */
export const jobFirst = (page: RanksPage | null): Headline | null =>
  page?.job && page.do_first
    ? { ...page.headline, action: page.do_first, view: null, basis: page.job.path ? page.path : null }
    : null;

/**
 * The rank's page below that headline: without cards that ask what other ranks did, which the job has compared. Where
 * one of them gains most, no step after it is shown either.
 */
export function belowJob(page: PageOf<"overview">): PageOf<"overview"> {
  const most = Math.max(...page.insights.map(({ gain_ns }) => gain_ns));
  const leads = page.insights.some(({ asks_ranks, gain_ns }) => asks_ranks && gain_ns === most);
  const insights = page.insights.filter(({ asks_ranks }) => !asks_ranks);
  return { ...page, insights, ...(leads && { could_be: null, tried: null }) };
}
