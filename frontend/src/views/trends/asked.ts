/** What Trends needs from the frame: which figures the pictures show, and short names for runs. */

import { shortNames } from "../../address/short_names";
import type { Index, Phrase, TrendsPage } from "../../api.gen";
import type { TrendsPart } from "../../server/client";

/** Metrics with a button of their own; all others are in a list. */
export const QUICK = ["step_time", "gpu_utilization", "est_sm_efficiency", "tensor_core_share", "data_loading_exposed"];

/** Metrics of the small pictures; each has its own title in `page.titles`. */
export const SMALL = ["data_loading_exposed", "gpu_utilization", "host_bound_share"] as const;

/** Up to this many spans all figures are loaded, and another metric is drawn at once. */
const WHOLE_SPANS = 64;

/** As many rows of the heat map as a person would scroll through. */
const MOST_STRIPS = 64;

/**
 * Which part of the trends of many spans is requested: a thousand spans in full are 34 MB. undefined: everything.
 * Another metric is requested when it is chosen (`useMetric`).
 */
export const trendsPart = (index: Index): TrendsPart | undefined =>
  index.spans_total <= WHOLE_SPANS ? undefined : { metrics: [...new Set([...QUICK, ...SMALL])], strips: MOST_STRIPS };

/** The page with short run names: the server's sentences name runs in full. */
export function withShortNames(page: TrendsPage): TrendsPage {
  const labels = shortNames(page.spans.map(({ run }) => run));
  const named = (phrase: Phrase): Phrase => ({ ...phrase, values: renamed(phrase.values, labels) });
  const { headline, titles, changes } = page;
  return {
    ...page,
    headline: { ...headline, verdict: named(headline.verdict), action: headline.action && named(headline.action) },
    titles: Object.fromEntries(Object.entries(titles).map(([id, title]) => [id, named(title)])),
    changes: changes.map((change) => ({ ...change, text: named(change.text) })),
  };
}

/** Replaces values that are the name of a run; figures and other words stay. */
const renamed = (values: Phrase["values"], labels: ReadonlyMap<string, string>): Phrase["values"] =>
  Object.fromEntries(
    Object.entries(values).map(([key, quantity]) => {
      const label = quantity.unit === "text" && labels.get(String(quantity.value));
      return [key, label ? { ...quantity, value: label } : quantity];
    }),
  );
