/** The experiments of a chain, and which runs are in it: those chosen in Trends, else the newest. */

import type { Selection } from "../../address/selection";
import { type Index, type LinkOfChain, MOST_IN_CHAIN, type RunEntry } from "../../api.gen";
import { counted } from "../../format";
import { comparedRun, namedRuns, recordedOf } from "../choices";
import type { Tab } from "../props";

interface ChainRuns {
  /** Empty: all runs. */
  runs: readonly string[];
  /** Which runs are shown, where some are left out. */
  said: string | null;
}

type Source = Pick<Tab, "index" | "state" | "written_ms">;

export function chainRuns(tab: Source): ChainRuns {
  const { index, state } = tab;
  const all = index.runs.map(({ name }) => name);
  const named = namedRuns(state, all);
  const candidates = named.length > 0 ? index.runs.filter(({ name }) => named.includes(name)) : index.runs;
  const runs = newest(candidates, comparedRuns(tab));
  if (runs.length === all.length) return { runs: [], said: null };
  const of = `of ${counted(all.length, "run")}`;
  if (runs.length < candidates.length) return { runs, said: `${MOST_IN_CHAIN} ${of}` };
  return { runs, said: `the ${counted(runs.length, "run")} chosen in Trends, ${of}` };
}

/** The two that are compared are always included, whatever their age; a report has a single chain. */
const comparedRuns = (tab: Source): readonly (string | null | undefined)[] =>
  tab.written_ms === undefined ? [tab.state.run, comparedRun(tab)] : [];

/** The newest runs, in the order of the index. */
function newest(runs: Index["runs"], pinned: readonly (string | null | undefined)[]): readonly string[] {
  const first = ({ name }: RunEntry): number => Number(pinned.includes(name));
  const last = [...runs].sort((a, b) => first(b) - first(a) || recordedOf(b) - recordedOf(a)).slice(0, MOST_IN_CHAIN);
  return runs.filter((run) => last.includes(run)).map(({ name }) => name);
}

/** An experiment as the pictures show it. */
export interface Experiment extends LinkOfChain {
  /** The shortest name that is unique among all that are shown. */
  name: string;
  /** Null: it has been removed from the log directory since. */
  at: Selection | null;
  role: "base" | "candidate" | "";
}
