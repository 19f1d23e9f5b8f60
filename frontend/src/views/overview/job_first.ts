/** The headline of the Overview of a rank, where the job says what to do first. */

import type { Headline, RanksPage } from "../../api.gen";

/** Null where the job has no card: then the rank's own step comes first. */
export const jobFirst = (page: RanksPage | null): Headline | null =>
  page?.job && page.do_first
    ? { ...page.headline, action: page.do_first, view: null, basis: page.job.path ? page.path : null }
    : null;
