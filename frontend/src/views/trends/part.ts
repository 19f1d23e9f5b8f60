/** What of the trends of many spans is asked for: the figures that pictures show. All of a thousand spans are 34 MB. */

import type { Index } from "../../api.gen";
import type { TrendsPart } from "../../server/client";

/** One press away; all other metrics are in a list. */
export const QUICK = ["step_time", "gpu_utilization", "est_sm_efficiency", "tensor_core_share", "data_loading_exposed"];

/** In small pictures; each has its own title in `page.titles`. */
export const SMALL = ["data_loading_exposed", "gpu_utilization", "host_bound_share"] as const;

/** Up to so many spans all figures are at hand, and another one is drawn at once. */
const WHOLE_SPANS = 64;

/** Rows of the heat map that a person scrolls through. */
const MOST_STRIPS = 64;

/** undefined: all of it. Another metric is asked for when it is chosen (`useMetric`). */
export const trendsPart = (index: Index): TrendsPart | undefined =>
  index.spans_total <= WHOLE_SPANS ? undefined : { metrics: [...new Set([...QUICK, ...SMALL])], strips: MOST_STRIPS };
