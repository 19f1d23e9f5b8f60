/** Every view, by id. Typed over ViewId: a view that Python adds does not compile until it stands here. */

import type { ViewId } from "../api.gen";
import { Comparison } from "./comparison";
import { DataLoading } from "./data_loading";
import { Gpu } from "./gpu";
import { Host } from "./host";
import { Overview } from "./overview";
import type { View } from "./props";
import { TensorCores } from "./tensor_cores";
import { Timeline } from "./timeline";
import { Trends } from "./trends";

export const VIEWS: { readonly [V in ViewId]: View<V> } = {
  overview: { of: "span", totals: true, Content: Overview },
  trends: { of: "spans", Content: Trends },
  data_loading: { of: "span", Content: DataLoading },
  tensor_cores: { of: "span", totals: true, Content: TensorCores },
  gpu: { of: "span", totals: true, Content: Gpu },
  host: { of: "span", totals: true, Content: Host },
  compare: { of: "pair", Content: Comparison },
  timeline: { of: "span", Content: Timeline },
};

export const isViewId = (id: string | undefined): id is ViewId => id !== undefined && Object.hasOwn(VIEWS, id);

/** Whether a view has totals, which can be of a step or of the whole recording. */
export function hasTotals(id: ViewId): boolean {
  const view: View<ViewId> = VIEWS[id] as View<ViewId>;
  return view.of === "span" && view.totals === true;
}
