/** In place of a view: every run of the log directory. Its part of the tab and its answer come when it is opened. */

import type { RunsPage } from "../api.gen";
import { counted } from "../format";
import type { Answer } from "../server/client";
import { type Asked, type Source, useAnswer } from "../server/use_answer";
import { Failed, Opening } from "../states/states";
import { later } from "../views/lazy";
import type { Tab } from "../views/props";
import { usePartOf, withPart } from "./lazy_views";
import { CONTENT } from "./top";

const PART = later(async () => (await import("../views/runs/runs")).Runs);

export function AllRuns({ tab, source }: { tab: Tab; source: Source }) {
  const { index } = tab;
  const asked = withPart<RunsPage>(useLines(index.version, source), usePartOf("runs", PART, source.cache));
  const { answer, trouble, again } = asked;
  const Runs = PART.now();
  if (answer?.kind === "ready" && Runs) return <Runs page={answer.value} tab={tab} />;
  const problem = answer?.kind === "problem" ? answer.value : null;
  return (
    <main id={CONTENT} class="wide" data-state={trouble || problem ? "failed" : "reading"} tabIndex={-1}>
      {trouble ? (
        <Failed title="The runs did not come." {...trouble} about="" again={again} />
      ) : problem ? (
        <Failed title="The runs cannot be listed." problem={problem} retry_ms={null} about="" again={again} />
      ) : (
        <Opening title="Opening all runs" reads={`Reading the summaries of ${counted(index.runs.length, "run")}.`} />
      )}
    </main>
  );
}

/** Asked for again until every line is made, and when the index has changed. */
function useLines(version: string, { client, cache }: Source): Asked<RunsPage> {
  const before = cache.get("runs") as Answer<RunsPage> | undefined;
  const left = before?.kind === "ready" ? before.value.left : 0;
  return useAnswer(cache, "runs", `${version} ${left}`, (signal) => client.runs!(signal));
}
