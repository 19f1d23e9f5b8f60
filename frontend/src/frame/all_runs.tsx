/** All runs of the log directory, in place of a view. This part of the tab is loaded when it is opened. */

import type { RunsPage } from "../api.gen";
import { counted } from "../format";
import type { Asked, Source } from "../server/use_answer";
import { Failed, Opening } from "../states/states";
import { later } from "../views/lazy";
import type { Tab } from "../views/props";
import { usePartOf, withPart } from "./lazy_views";
import { CONTENT } from "./top";

const PART = later(async () => (await import("../views/runs/runs")).Runs);

export function AllRuns({ lines, tab, source }: { lines: Asked<RunsPage>; tab: Tab; source: Source }) {
  const { index } = tab;
  const asked = withPart<RunsPage>(lines, usePartOf("runs", PART, source.cache));
  const { answer, trouble, again } = asked;
  const Runs = PART.now();
  if (answer?.kind === "ready" && Runs) return <Runs page={answer.value} tab={tab} />;
  const problem = answer?.kind === "problem" ? answer.value : null;
  return (
    <main id={CONTENT} class="wide" data-state={trouble || problem ? "failed" : "reading"} tabIndex={-1}>
      {trouble ? (
        <Failed title="The runs could not be loaded." {...trouble} about="" again={again} />
      ) : problem ? (
        <Failed title="The runs cannot be listed." problem={problem} retry_ms={null} about="" again={again} />
      ) : (
        <Opening title="Opening all runs" reads={`Reading the summaries of ${counted(index.runs.length, "run")}.`} />
      )}
    </main>
  );
}
