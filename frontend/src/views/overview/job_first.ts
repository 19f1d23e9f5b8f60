/** The headline of the Overview of a rank, where the job says what to do first. */

import type { Headline, RanksPage } from "../../api.gen";

/** Null where the job has no card: then the rank's own step comes first. */
export function jobFirst(page: RanksPage | null): Headline | null {
  const first = page?.job && page.insights[0];
  if (!first) return null;
  const { title, gain_ns } = first;
  const gain = gain_ns > 0 ? ": [up to {job_gain} a step]" : "";
  return {
    ...page.headline,
    action: {
      template: `${title.template}${gain}.`,
      values: { ...title.values, job_gain: { value: gain_ns, unit: "ns" } },
    },
    view: "ranks",
    basis: page.job?.path ? page.path : null,
  };
}
