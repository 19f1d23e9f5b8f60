/**
 * What a view is given. A view is a function of its result; what it needs besides is here.
 *
 * The frame has drawn the verdict, the action and the notes above it; a view draws what follows and opens with
 * `<div class="view" data-view="…">`.
 */

import type { ComponentType } from "preact";
import type { Index, PageOf, TrendsPage, ViewId } from "../api.gen";
import type { Meanings } from "../meanings";
import type { Changes, UrlState } from "../state";

/** The tab around a view: meanings of numbers, and the state that lives in the URL. */
export interface Tab {
  meanings: Meanings;
  index: Index;
  state: UrlState;
  /** Writes keys into the URL; null takes a key out. */
  update(changes: Changes): void;
  /** The address with changes made, for links and "Copy link". */
  address(changes?: Changes): string;
}

export interface SpanViewProps<V extends ViewId> {
  page: PageOf<V>;
  tab: Tab;
}

export interface TrendsViewProps {
  page: TrendsPage;
  tab: Tab;
}

/** A view of one span (route `view`), or of many (route `trends`). */
export type View<V extends ViewId> =
  | { of: "span"; Content: ComponentType<SpanViewProps<V>> }
  | { of: "spans"; Content: ComponentType<TrendsViewProps> };
