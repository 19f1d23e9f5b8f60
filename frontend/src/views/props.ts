/**
 * What a view is given. A view is a function of its result; what it needs besides is here.
 *
 * The frame has drawn the verdict, the action and the notes above it; a view draws what follows and opens with
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
  SpanPage,
  TrendsPage,
  ViewId,
} from "../api.gen";
import type { Meanings } from "../meanings";
import type { Client } from "../server/client";
import type { Asked } from "../server/use_answer";
import type { Part } from "./lazy";
import type { Works } from "./works";

export type EventSource = Pick<
  Client,
  "timeline" | "busy" | "memory" | "flame" | "source" | "event" | "search" | "stepFile" | "held"
>;

export type ScalarSource = Pick<Client, "scalars">;

export type StepSource = Pick<Client, "jobSteps">;

type SeriesSource = Pick<Client, "series">;

export type RankSource = Pick<Client, "rankMap" | "jobTimeline">;

/** By picture, table or figure: what is said above or under it. */
export type Titles = Readonly<SpanPage["titles"]>;

/** The tab around a view: meanings of numbers, and the state that lives in the URL. */
export interface Tab {
  meanings: Meanings;
  index: Index;
  state: Address;
  /** Which runs compute the same; null: not known yet. */
  works: Works | null;
  /** Steps of the span that is shown; 1 where none is. */
  steps: number;
  /** Single events of a span: the one thing that does not come with a view's page. */
  events: EventSource;
  /** What the job itself logged. */
  scalars: ScalarSource;
  /** Every step of a run. */
  job_steps: StepSource;
  /** A metric of many spans. */
  series: SeriesSource;
  /** A metric of all ranks of a job. */
  ranks: RankSource;
  /** When the report was written that this is; absent: it is the tab. */
  written_ms?: number | undefined;
  /** Writes keys into the URL; null takes a key out. */
  update(changes: Changes): void;
  /** The address with changes made, for links and "Copy link". */
  address(changes?: Changes): string;
}

/** How the two spans of a comparison are called. */
export interface Names {
  /** The other span. */
  name: string;
  /** The chosen one, of which the view is. */
  own: string;
}

/** The same view of another span, next to the chosen one. */
export interface Compared<V extends ViewId> extends Names {
  page: PageOf<V>;
  /** They do not do the same: lengths of one say nothing of the other's. */
  unlike?: boolean;
}

/** What the server says above or under a picture or a table that the page has. */
export const titleOf = <Id extends string>({ titles }: { titles: Partial<Record<Id, Phrase>> }, id: Id): Phrase =>
  titles[id] ?? { template: "", values: {} };

/** What is said of a metric's tile, where anything is: the metric's id comes from a result, so no type can know it. */
export const remarkOf = (titles: Titles, id: string): Phrase | undefined =>
  (titles as Readonly<Record<string, Phrase | undefined>>)[id];

export interface SpanViewProps<V extends ViewId> {
  page: PageOf<V>;
  tab: Tab;
  /** Null where nothing is compared, or the other span's page is not there yet. */
  compared: Compared<V> | null;
  /** The job of several ranks that the span is of; null where it is alone, not asked for, or not there yet. */
  job?: RanksPage | null;
}

export interface TrendsViewProps {
  page: TrendsPage;
  tab: Tab;
}

/** Two runs held against each other. */
export interface Pair extends Names {
  found: ComparePage;
  /** They do not do the same: no axis holds both. */
  unlike: boolean;
}

export interface PairViewProps {
  /** The candidate, or what may become it. */
  chosen: Selection;
  /** What it is held against; null: nothing is compared. */
  base: Selection | null;
  /** Null where nothing is compared, or the answer is not there yet. */
  pair: Pair | null;
  chain: Asked<ChainPage>;
  tab: Tab;
}

export interface RanksViewProps {
  page: RanksPage;
  /** A rank of it, as the address has it. */
  chosen: Selection;
  tab: Tab;
}

/**
 * A view of one span (route `view`), with another next to it on demand, of many spans (route `trends`), of the ranks of
 * a job (routes `ranks`, `rank_map`, `job_timeline`), or of two runs (routes `compare` and `chain`). `totals`: whether
 * it has any over the steps.
 */
export type View<V extends ViewId> =
  | { of: "span"; totals?: boolean; part: Part<ComponentType<SpanViewProps<V>>> }
  | { of: "spans"; part: Part<ComponentType<TrendsViewProps>> }
  | { of: "job"; part: Part<ComponentType<RanksViewProps>> }
  | { of: "pair"; part: Part<ComponentType<PairViewProps>> };

export interface HostPart {
  result: HostResult;
  /** What is said above each picture. */
  titles: Titles;
  tab: Tab;
  /** Opens the name of saved files. */
  name: string;
  /** Parts that a legend hides, by id. */
  off: ReadonlySet<string>;
  compared?: Compared<"host"> | null;
}
