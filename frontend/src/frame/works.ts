/** The table of all runs, and which of them compute the same: requested once the page that was opened is there. */

import { useMemo, useRef } from "preact/hooks";
import { compareKey, type Selection } from "../address/selection";
import type { Index, RunsPage, ViewId } from "../api.gen";
import type { Answer } from "../server/client";
import { type Asked, type Source, useAnswer } from "../server/use_answer";
import type { Tab } from "../views/props";
import { usualBase, type Works, worksOf } from "../views/works";

/**
 * The table takes the server seconds for more runs than this: then it is requested only where something shown needs it.
 */
const AT_ONCE_RUNS = 100;

/** Views that open with runs of the same work. */
const NEEDED: readonly ViewId[] = ["compare", "trends"];

interface Wanted {
  view: ViewId;
  /** All runs are shown, or two are compared. */
  several: boolean;
  /** The page that was opened has arrived. */
  opened: boolean;
}

/** Requested again until every row is complete, and when the index has changed. */
export function useLines({ view, several, opened }: Wanted, index: Index, { client, cache }: Source): Asked<RunsPage> {
  const before = cache.get("runs") as Answer<RunsPage> | undefined;
  const left = before?.kind === "ready" ? before.value.left : 0;
  const needed = several || NEEDED.includes(view) || (opened && index.runs.length <= AT_ONCE_RUNS);
  const name = client.runs && index.runs.length > 1 && needed ? "runs" : null;
  return useAnswer(cache, name, `${index.version} ${left}`, (signal) => client.runs!(signal));
}

const UNKNOWN: Works = new Map();

/**
 * Null until it is known for the open run. It then stays the same until all rows are complete, so that what is drawn of
 * runs of the same work does not change with each of them. Where no answer arrives, nothing is known.
 */
export function useWorks({ answer, trouble }: Asked<RunsPage>, run: string | undefined, can: boolean): Works | null {
  const page = answer?.kind === "ready" ? answer.value : null;
  const now = useMemo(() => page && worksOf(page.lines), [page]);
  const kept = useRef<Works | null>(null);
  if (page && now && (page.left === 0 || (kept.current === null && now.has(run ?? "")))) kept.current = now;
  return kept.current ?? (!can || trouble || answer?.kind === "problem" ? UNKNOWN : null);
}

/** Makes Compare open with a pair of the same work, as if the address named it. */
export function useUsualPair(tab: Tab, view: ViewId, chosen: Selection | null): Tab {
  const { index, state, works, written_ms } = tab;
  const open = view === "compare" && state.with === undefined && written_ms === undefined && chosen !== null;
  const base = open ? usualBase(index, chosen, works) : null;
  const key = base && compareKey(base);
  const paired = useMemo(() => (key === null ? state : { ...state, with: key }), [state, key]);
  return { ...tab, state: paired };
}
