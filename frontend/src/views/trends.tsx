/** How figures move: over steps, spans and time, by run; and within the spans as strips. */

import { useMemo } from "preact/hooks";
import type { TrendsPage } from "../api.gen";
import { useChosen } from "./chosen";
import type { Tab, TrendsViewProps } from "./props";
import { axisOver, isOver } from "./trends/axis";
import { Controls, shownRuns } from "./trends/controls";
import { RunLegend } from "./trends/legend";
import { TrendPicture } from "./trends/lines";
import { type Run, runsOf } from "./trends/runs";
import { SlowSteps } from "./trends/slow_steps";
import { Strips } from "./trends/strips";

/** Each has its own title in `page.titles`. */
const SMALL = ["data_loading_exposed", "gpu_utilization", "host_bound_share"];

export function Trends({ page, tab }: TrendsViewProps) {
  const all = useMemo(() => runsOf(page), [page]);
  const names = tab.index.runs.map((run) => run.name);
  const shown = shownRuns(tab.state["runs"], names);
  const runs = useMemo(() => all.filter((run) => shown.has(run.name)), [all, tab.state["runs"]]);
  const over = isOver(tab.state["over"]) ? tab.state["over"] : "steps";
  const metric = tab.meanings.metrics.find((each) => each.id === tab.state["metric"]) ?? tab.meanings.metrics[0]!;
  return (
    <div class="view" data-view="trends">
      <Controls metric={metric} over={over} runs={names} shown={shown} tab={tab} />
      {runs.length > 0 && <Pictures page={page} runs={runs} over={over} metric={metric} tab={tab} />}
    </div>
  );
}

interface PicturesProps {
  page: TrendsPage;
  runs: readonly Run[];
  over: Parameters<typeof axisOver>[0];
  metric: Tab["meanings"]["metrics"][number];
  tab: Tab;
}

function Pictures({ page: { titles }, runs, over, metric, tab }: PicturesProps) {
  const chosen = useChosen(tab);
  const axis = useMemo(() => axisOver(over, runs), [over, runs]);
  const main = metric.id === tab.meanings.metrics[0]!.id ? titles["steps"] : titles[metric.id];
  const focus = runs[runs.length - 1]!;
  return (
    <>
      <div class="trend-main">
        <TrendPicture metric={metric} title={main} sub={metric.label} runs={runs} axis={axis} chosen={chosen} tab={tab} />
        <div>
          <SlowSteps title={titles["slow"]} run={focus} chosen={chosen} tab={tab} />
          <RunLegend runs={runs} />
        </div>
      </div>
      <div class="trend-small">
        {SMALL.map((id) => <TrendPicture key={id} small metric={tab.meanings.metric(id)} title={titles[id]} runs={runs} axis={axis} chosen={chosen} tab={tab} />)}
      </div>
      <Strips title={titles["strips"]} runs={runs} chosen={chosen} tab={tab} />
    </>
  );
}
