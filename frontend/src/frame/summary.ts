/** The summary that Share copies. This part of the tab is loaded when it is asked for. */

import { comparedWith, namesApart, type Selection } from "../address/selection";
import type { ComparePage, ViewId } from "../api.gen";
import type { Answer } from "../server/client";
import type { Source } from "../server/use_answer";
import { comparisonMarkdown, summaryMarkdown } from "../views/markdown";
import { belowJob, jobFirst } from "../views/overview/job_first";
import type { Names, Tab } from "../views/props";
import { named } from "./pair_content";

/** A summary of what Compare compares; in every other view of the chosen span's overview, with its job. */
export async function summaryOf(view: ViewId, selection: Selection, { client }: Source, tab: Tab) {
  const { id } = selection.span;
  const { signal } = new AbortController(); // what the reader wants to copy is not abandoned
  const other = view === "compare" ? comparedWith(tab.index, tab.state, selection) : null;
  if (other) return comparisonOf(await client.compare(other.span.id, id, signal), namesApart(selection, other), tab);
  const [answer, ranks] = await Promise.all([
    client.view(id, "overview"),
    selection.run.workers.length > 1 ? client.ranks(id, signal) : null,
  ]);
  if (answer?.kind !== "ready") return null;
  const { vendor, accelerator } = answer.value.head.job;
  const meanings = tab.meanings.of({ vendor, accelerator: accelerator ?? "GPU" });
  const job = ranks?.kind === "ready" && ranks.value.job ? ranks.value : null;
  const headline = jobFirst(job) ?? (view === "ranks" ? job?.headline : null);
  const page = headline ? belowJob(answer.value) : answer.value;
  return summaryMarkdown(page, { ...tab, meanings }, headline && { ...job!, headline });
}

function comparisonOf(answer: Answer<ComparePage>, names: Names, tab: Tab): string | null {
  if (answer.kind !== "ready") return null;
  const { headline, below } = answer.value;
  const page = { ...answer.value, headline: named(headline, names), below: below && named(below, names) };
  return comparisonMarkdown(page, names, tab);
}
