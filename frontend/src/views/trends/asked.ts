/** What the frame does for Trends: it asks for the figures that pictures show, and calls runs by their short names. */

import { shortNames } from "../../address/short_names";
import type { Index, Phrase, TrendsPage } from "../../api.gen";
import type { TrendsPart } from "../../server/client";

/** One press away; all other metrics are in a list. */
export const QUICK = ["step_time", "gpu_utilization", "est_sm_efficiency", "tensor_core_share", "data_loading_exposed"];

/** In small pictures; each has its own title in `page.titles`. */
export const SMALL = ["data_loading_exposed", "gpu_utilization", "host_bound_share"] as const;

/** Up to so many spans all figures are at hand, and another one is drawn at once. */
const WHOLE_SPANS = 64;

/** Rows of the heat map that a person scrolls through. */
const MOST_STRIPS = 64;

/**
 * What of the trends of many spans is asked for: all of a thousand spans are 34 MB. undefined: all of it. Another
 * metric is asked for when it is chosen (`useMetric`).
 */
export const trendsPart = (index: Index): TrendsPart | undefined =>
  index.spans_total <= WHOLE_SPANS ? undefined : { metrics: [...new Set([...QUICK, ...SMALL])], strips: MOST_STRIPS };

/** The page as its runs are called here: sentences of the server name them in full. */
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

/** Values that are the name of a run; figures and other words stay. */
const renamed = (values: Phrase["values"], labels: ReadonlyMap<string, string>): Phrase["values"] =>
  Object.fromEntries(
    Object.entries(values).map(([key, quantity]) => {
      const label = quantity.unit === "text" && labels.get(String(quantity.value));
      return [key, label ? { ...quantity, value: label } : quantity];
    }),
  );
