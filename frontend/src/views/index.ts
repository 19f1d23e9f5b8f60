/**
 * Every view, by id. The type is over ViewId: when Python adds a view, this does not compile until the view is listed.
 *
 * The overview is a part of the main bundle; each other view is loaded when it is first opened, or earlier, while the
 * browser is idle.
 */

import type { ViewId } from "../api.gen";
import { here } from "../lazy";
import { laterView } from "./later_view";
import { Overview } from "./overview/overview";
import type { View } from "./props";

export const VIEWS: { readonly [V in ViewId]: View<V> } = {
  overview: { of: "span", totals: true, part: here(Overview) },
  trends: { of: "spans", part: laterView(async () => (await import("./trends/trends")).Trends) },
  data_loading: { of: "span", part: laterView(async () => (await import("./data_loading/data_loading")).DataLoading) },
  tensor_cores: {
    of: "span",
    totals: true,
    part: laterView(async () => (await import("./tensor_cores/tensor_cores")).TensorCores),
  },
  gpu: { of: "span", totals: true, part: laterView(async () => (await import("./gpu/gpu")).Gpu) },
  host: { of: "span", totals: true, part: laterView(async () => (await import("./host/host")).Host) },
  operators: {
    of: "span",
    totals: true,
    part: laterView(async () => (await import("./operators/operators")).Operators),
  },
  memory: { of: "span", totals: true, part: laterView(async () => (await import("./memory/memory")).Memory) },
  ranks: { of: "job", part: laterView(async () => (await import("./ranks/ranks")).Ranks) },
  compare: { of: "pair", part: laterView(async () => (await import("./compare/compare")).Comparison) },
  timeline: { of: "span", part: laterView(async () => (await import("./timeline/timeline")).Timeline) },
};

export const isViewId = (id: string | undefined): id is ViewId => id !== undefined && Object.hasOwn(VIEWS, id);

/** Whether a view has totals, which can be per step or for the whole recording. */
export function hasTotals(id: ViewId): boolean {
  const view: View<ViewId> = VIEWS[id] as View<ViewId>;
  return view.of === "span" && view.totals === true;
}

/** Starts to load a view; a failure is reported by whatever shows the view. */
export function beginToLoad(id: ViewId): void {
  VIEWS[id].part.load().catch(() => {});
}
