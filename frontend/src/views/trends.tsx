/** How figures move: over steps, spans and time, by run; and within the spans as rows. */

import { useMemo } from "preact/hooks";
import type { TrendsPage, TrendsTitleId } from "../api.gen";
import { focusRun, namedRuns, useStepSelection } from "./choices";
import { type Tab, type TrendsViewProps, titleOf } from "./props";
import { axisOver, isOver, type Over } from "./trends/axis";
import { Changes } from "./trends/changes";
import { Controls } from "./trends/controls";
import { OpenSpan, RunLegend } from "./trends/focus";
import { HeatmapPicture } from "./trends/heatmap_picture";
import { TrendPicture } from "./trends/lines";
import { type Run, runsOf } from "./trends/runs";
import { SlowSteps } from "./trends/slow_steps";

/** Each has its own title in `page.titles`. */
const SMALL = ["data_loading_exposed", "gpu_utilization", "host_bound_share"] as const;

export function Trends({ page, tab }: TrendsViewProps) {
  const all = useMemo(() => runsOf(page), [page]);
  const names = tab.index.runs.map((run) => run.name);
  const named = namedRuns(tab.state, names);
  const shownNames = (named.length > 0 ? named : names).join("\n");
  const shown = useMemo(() => new Set(shownNames.split("\n")), [shownNames]);
  const focus = focusRun(tab.state, [...shown]);
  const chosen = useMemo(() => all.filter((run) => shown.has(run.name)), [all, shown]);
  const runs = useMemo(() => focusLast(chosen, focus), [chosen, focus]);
  const over = isOver(tab.state.over) ? tab.state.over : naturalOver(runs);
  const metric = tab.meanings.metrics.find((each) => each.id === tab.state.metric) ?? tab.meanings.metrics[0]!;
  return (
    <div class="view" data-view="trends">
      <Controls metric={metric} over={over} runs={names} shown={shown} tab={tab} />
      {runs.length > 0 && <Pictures page={page} all={chosen} runs={runs} over={over} metric={metric} tab={tab} />}
    </div>
  );
}

/** More steps than this are a band of ink; spans show more, until steps are asked for. */
const MOST_STEPS = 600;

const naturalOver = (runs: readonly Run[]): Over =>
  Math.max(0, ...runs.map((run) => run.steps.length)) > MOST_STEPS ? "spans" : "steps";

/** The pictures take the last run for the one in focus, and draw it over the others. */
const focusLast = (runs: readonly Run[], focus: string | null): readonly Run[] => [
  ...runs.filter((run) => run.name !== focus),
  ...runs.filter((run) => run.name === focus),
];

interface PicturesProps {
  page: TrendsPage;
  /** In the order of the pickers, then the same with the one in focus last. */
  all: readonly Run[];
  runs: readonly Run[];
  over: Over;
  metric: Tab["meanings"]["metrics"][number];
  tab: Tab;
}

function Pictures({ page, all, runs, over, metric, tab }: PicturesProps) {
  const chosen = useStepSelection(tab);
  const axis = useMemo(() => axisOver(over, runs), [over, runs]);
  const { changes } = page;
  // The catalogue's metrics have a title each.
  const main = metric.id === tab.meanings.metrics[0]!.id ? "steps" : (metric.id as TrendsTitleId);
  const focus = runs[runs.length - 1]!;
  const shown = useMemo(() => changes.filter((change) => runs.some((run) => run.name === change.run)), [changes, runs]);
  return (
    <>
      <div class="trend-main">
        <TrendPicture
          metric={metric}
          title={titleOf(page, main)}
          sub={metric.label}
          runs={runs}
          axis={axis}
          changes={shown}
          chosen={chosen}
          tab={tab}
        />
        <div>
          <SlowSteps
            title={titleOf(page, "slow")}
            rule={titleOf(page, "slow_rule")}
            run={focus}
            chosen={chosen}
            tab={tab}
          />
          <RunLegend runs={runs} choose={(run) => tab.update({ run })} />
          <OpenSpan run={focus} chosen={chosen} tab={tab} />
        </div>
      </div>
      <div class="trend-small">
        {SMALL.map((id) => (
          <TrendPicture
            key={id}
            small
            metric={tab.meanings.metric(id)}
            title={titleOf(page, id)}
            runs={runs}
            axis={axis}
            changes={shown}
            chosen={chosen}
            tab={tab}
          />
        ))}
      </div>
      <HeatmapPicture title={titleOf(page, "time_bins")} runs={all} chosen={chosen} tab={tab} />
      <Changes changes={shown} tab={tab} />
    </>
  );
}
