/**
 * The inputs of a view. A view is a function of its result; everything else that it needs is here.
 *
 * The frame draws the verdict, the action and the notes above it; a view draws what follows and starts with
 * `<div class="view" data-view="…">`.
 */

import type { ComponentType } from "preact";
import type { Address, Changes } from "../address/keys";
import type { Selection } from "../address/selection";
import type {
  ChainPage,
  ComparePage,
  HostResult,
  Index,
  PageOf,
  Phrase,
  RanksPage,
  SpanHead,
  SpanPage,
  TrendsPage,
  ViewId,
} from "../api.gen";
import type { Part } from "../lazy";
import type { Meanings } from "../meanings";
import type { ViewSource } from "../server/client";
import type { Requested } from "../server/use_answer";
import type { Works } from "./works";

/** The texts above or below pictures, tables and figures, by their ids. */
export type Titles = Readonly<SpanPage["titles"]>;

/** The tab around a view: meanings of numbers, and the state that lives in the URL. */
export interface Tab {
  meanings: Meanings;
  index: Index;
  state: Address;
  /** Compare has chosen the other run itself: `state` has it, the address does not. */
  paired?: boolean;
  /** Which runs compute the same; null: not yet known. */
  works: Works | null;
  /** The number of steps of the span that is shown; 1 where none is. */
  steps: number;
  source: ViewSource;
  /** When this report was written; absent: this is the tab. */
  written_ms?: number | undefined;
  /** Writes keys into the URL; null removes a key. */
  update(changes: Changes): void;
  /** The address with changes made, for links and "Copy link". */
  address(changes?: Changes): string;
}

export interface ViewPart {
  tab: Tab;
  /** The beginning of the names of saved files. */
  name: string;
}

export interface Names {
  /** The other span. */
  name: string;
  /** The chosen span, to which the view belongs. */
  own: string;
}

/** The same view of another span, next to the chosen one. */
export interface Compared<V extends ViewId> extends Names {
  page: PageOf<V>;
  /** They do different work: durations of one say nothing about those of the other. */
  unlike?: boolean;
}

/** The server's text above or below a picture or a table of the page. */
export const titleOf = <Id extends string>({ titles }: { titles: Partial<Record<Id, Phrase>> }, id: Id): Phrase =>
  titles[id] ?? { template: "", values: {} };

/** The remark on a metric's tile, if there is one: the metric's id comes from a result, so no type can know it. */
export const remarkOf = (titles: Titles, id: string): Phrase | undefined =>
  (titles as Readonly<Record<string, Phrase | undefined>>)[id];

export interface SpanViewProps<V extends ViewId> {
  page: PageOf<V>;
  tab: Tab;
  /** Null where nothing is compared, or the other span's page has not arrived. */
  compared: Compared<V> | null;
  /** The job of several ranks to which the span belongs; null where it is alone, not requested, or has not arrived. */
  job?: RanksPage | null;
}

export interface TrendsViewProps {
  page: TrendsPage;
  tab: Tab;
}

export interface Pair extends Names {
  found: ComparePage;
  /** They do different work: no axis can show both. */
  unlike: boolean;
}

export interface PairViewProps {
  /** The candidate, or the span that may become it. */
  chosen: Selection;
  /** The span that it is compared with; null: nothing is compared. */
  base: Selection | null;
  /** Null where nothing is compared, or the answer has not arrived. */
  pair: Pair | null;
  chain: Requested<ChainPage>;
  tab: Tab;
}

export interface RanksViewProps {
  page: RanksPage;
  /** One of its ranks, as the address names it. */
  chosen: Selection;
  tab: Tab;
}

/**
 * A view of one span (route `view`), with another next to it on demand, of many spans (route `trends`), of the ranks of
 * a job (routes `ranks`, `rank_map`, `job_timeline`), or of two runs (routes `compare` and `chain`). `totals`: whether
 * it has totals over the steps.
 */
export type View<V extends ViewId> =
  | { of: "span"; totals?: boolean; part: Part<ComponentType<SpanViewProps<V>>> }
  | { of: "spans"; part: Part<ComponentType<TrendsViewProps>> }
  | { of: "job"; part: Part<ComponentType<RanksViewProps>> }
  | { of: "pair"; part: Part<ComponentType<PairViewProps>> };

export interface HostPart extends ViewPart {
  result: HostResult;
  steps_by: SpanHead["steps_by"];
  /** The texts above the pictures. */
  titles: Titles;
  /** Ids of the parts that a legend hides. */
  off: ReadonlySet<string>;
  compared?: Compared<"host"> | null;
}
