/** How figures change over steps, spans and time, by run; and, within the spans, as rows. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { Change, ScalarSeries, TrendsPage, TrendsTitleId } from "../../api.gen";
import type { Overlay } from "../../charts/lines/line_layout";
import { RUN_COLOURS } from "../../colour";
import type { TableData } from "../../components/data_table";
import { SearchField } from "../../components/filter";
import { useHidden } from "../../components/keys";
import { Note } from "../../components/note";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { textOf } from "../../components/waiting";
import { count, counted } from "../../format";
import { sentence } from "../../phrase";
import { comparedRun, focusRun, trendRuns } from "../choices";
import { type Tab, type TrendsViewProps, titleOf } from "../props";
import { SMALL } from "./asked";
import { axisOver, isOver, type Over, type TrendAxis } from "./axis";
import { type Cast, castOf } from "./cast";
import { Controls, ScalarPicker } from "./controls";
import { EveryStep } from "./every_step";
import { HOW_TO_OPEN, OpenSpan, OTHERS, RunLegend } from "./focus";
import { HeatmapPicture } from "./heatmap_picture";
import { useTrendSelection } from "./hover";
import { TrendPicture } from "./lines";
import { MANY_WORKERS, type Run, runsOf, useMetric, workersOf } from "./runs";
import { loggedRange, placed, useScalars } from "./scalars";
import { SlowSteps } from "./slow_steps";

export function Trends({ page, tab }: TrendsViewProps) {
  const all = useMemo(() => runsOf(page), [page]);
  const names = tab.index.runs.map((run) => run.name);
  const chosenNames = trendRuns(tab) ?? names;
  const shownNames = chosenNames.join("\n");
  const shown = useMemo(() => new Set(shownNames.split("\n")), [shownNames]);
  const focus = focusRun(tab.state, [...shown]);
  const compared = comparedRun(tab);
  const [typed, search] = useState("");
  const chosen = useMemo(() => all.filter((run) => shown.has(run.name)), [all, shown]);
  const over = isOver(tab.state.over) ? tab.state.over : naturalOver(chosen);
  const { metric, failed } = useMetric(page, chosenNames.length === names.length ? [] : chosenNames, tab);
  const workers = useMemo(() => manyWorkers(chosen), [chosen]);
  const { worker } = tab.state;
  const { more_is_better: moreIsBetter } = tab.meanings;
  const cast = useMemo(
    () => castOf(chosen, workers, { focus, compared, worker, typed, metric, moreIsBetter }),
    [chosen, workers, focus, compared, worker, typed, metric, moreIsBetter],
  );
  return (
    <div class="view" data-view="trends">
      <Controls metric={metric} over={over} runs={names} shown={shown} tab={tab} />
      {failed && <Note cause={`${failed.label} could not be loaded.`}>{textOf(failed.problem)}</Note>}
      {cast.lines.length > 0 && (
        <Pictures
          {...{ page, cast, compared, over, metric, tab, typed }}
          search={cast.group.length > 0 || typed !== "" ? search : null}
        />
      )}
      {page.left_out > 0 && (
        <p class="quiet small">
          The newest {counted(page.spans.length, "span")} are shown, and {count(page.left_out)} older ones are not.
          Choose some of the runs to see theirs.
        </p>
      )}
    </div>
  );
}

/** The workers of a run that is shown alone and has many; else none. */
const manyWorkers = (runs: readonly Run[]): readonly Run[] =>
  runs.length === 1 && runs[0]!.workers >= MANY_WORKERS ? workersOf(runs[0]!) : NONE;

/** More steps than this would be a band of ink; several spans show more, until the reader chooses steps. */
const MOST_STEPS = 600;

/** Where many runs are drawn as one group, fewer steps than this already hide their band behind spikes. */
const MOST_STEPS_OF_MANY = 150;

function naturalOver(runs: readonly Run[]): Over {
  const many = runs.length > RUN_COLOURS || runs.some(({ workers }) => workers >= MANY_WORKERS);
  if (!runs.some(({ wholes }) => wholes.length > 1)) return "steps"; // over its only span, a run is one point
  const most = many ? MOST_STEPS_OF_MANY : MOST_STEPS;
  return Math.max(0, ...runs.map(({ steps }) => steps.length)) > most ? "spans" : "steps";
}

const NONE: readonly Run[] = [];

interface PicturesProps {
  page: TrendsPage;
  cast: Cast;
  compared: string | null;
  /** The search text among many runs, and the function that changes it; null: there are few runs. */
  typed: string;
  search: ((typed: string) => void) | null;
  over: Over;
  metric: Tab["meanings"]["metrics"][number];
  tab: Tab;
}

function Pictures({ page, cast, compared, typed, search, over, metric, tab }: PicturesProps) {
  const chosen = useTrendSelection(tab);
  const { lines: all, group: together, of } = cast;
  const [off, hide] = useHidden();
  // the run in focus is always drawn: titles are about it
  const runs = useSameList(all.filter((run, at) => at === all.length - 1 || !off.has(run.name)));
  const group = useSameList(off.has(OTHERS) ? NONE : together);
  // the run in focus comes first: its strips are visible however many runs there are
  const strips = useSameList(of === "workers" ? runs.slice(-1) : [...runs].reverse().concat(group));
  const focus = runs[runs.length - 1]!;
  const tag = tab.state.scalar ?? null;
  const { tags, series } = useScalars(tab.source, focus.name, tag);
  // all runs, whichever of them are drawn individually
  const along = useSameList(
    [...group, ...runs].sort((a, b) => (a.name < b.name ? -1 : 1)),
    ({ steps }) => steps,
  );
  const axis = useMemo(() => axisOver(over, along, loggedRange(series)), [over, along, series]);
  const overlay = useMemo(() => overlayOf(series, over, axis, focus), [series, over, axis, focus]);
  const { changes } = page;
  // Each metric of the catalogue has a title.
  const main = metric.id === tab.meanings.metrics[0]!.id ? "steps" : (metric.id as TrendsTitleId);
  const shown = useSameList(changes.filter((change) => runs.some((run) => run.name === change.run)));
  return (
    <>
      <div class="trend-main">
        <TrendPicture
          metric={metric}
          title={titleOf(page, main)}
          sub={`${metric.label}${scalarSub(tag, overlay, focus)}`}
          details={HOW_TO_OPEN}
          overlay={overlay}
          tools={
            tags.length > 0 && <ScalarPicker tags={tags} chosen={tag} choose={(scalar) => tab.update({ scalar })} />
          }
          {...{ runs, group, of, compared, axis, chosen, tab }}
          changes={shown}
        />
        <div>
          {search && <RunSearch typed={typed} search={search} of={of} />}
          <RunLegend
            runs={all}
            group={together}
            {...{ of, compared, metric, off, hide }}
            choose={({ name, worker }) =>
              tab.update(worker === undefined ? { run: name } : { run: focus.name, worker })
            }
          />
          {focus.steps.length > 1 && (
            <SlowSteps
              title={titleOf(page, "slow")}
              rule={titleOf(page, "slow_rule")}
              run={focus}
              chosen={chosen}
              tab={tab}
            />
          )}
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
            {...{ runs, group, of, compared, axis, chosen, tab }}
            changes={shown}
          />
        ))}
      </div>
      <EveryStep run={focus.name.split("\n")[0]!} worker={focus.worker} tab={tab} />
      <HeatmapPicture title={titleOf(page, "time_bins")} runs={strips} chosen={chosen} tab={tab} />
      <Changes changes={shown} tab={tab} />
    </>
  );
}

/** If several folders have the tag, the one of training is used, else the first by name. */
function overlayOf(series: readonly ScalarSeries[], over: Over, axis: TrendAxis, focus: Run): Overlay | null {
  const first = series.find(({ source }) => /train/i.test(source)) ?? series[0];
  return first ? { name: first.tag, points: placed(first, over, axis, focus) } : null;
}

function scalarSub(tag: string | null, overlay: Overlay | null, { label }: Run): string {
  if (tag === null || overlay === null) return "";
  return overlay.points.length > 0
    ? `; dotted: ${tag}`
    : `; ${label} logged no ${tag} at these steps: choose wall time`;
}

/** The search among many runs: those that it finds are drawn individually. */
function RunSearch({ of, typed, search }: { of: Cast["of"]; typed: string; search(typed: string): void }) {
  return (
    <SearchField
      class="field run-search"
      placeholder={`Search ${of} to draw them`}
      label={`Search ${of} to draw them one by one`}
      typed={typed}
      change={(next) => search(next.trim().toLowerCase())}
    />
  );
}

/**
 * Returns the previous list where the new one contains the same things, as compared by `of`, so that nothing derived
 * from it is computed again.
 */
function useSameList<T>(list: readonly T[], of: (each: T) => unknown = (each) => each): readonly T[] {
  const before = useRef(list);
  const last = before.current;
  const same = last.length === list.length && list.every((each, at) => of(each) === of(last[at]!));
  if (!same) before.current = list;
  return before.current;
}

/** Further changes are in the table behind the menu. */
const MOST = 6;

/** From which span on a figure is different, in sentences: the marks in the picture above are at the same places. */
function Changes({ changes, tab }: { changes: readonly Change[]; tab: Tab }) {
  if (changes.length === 0) return null;
  const more = changes.length - MOST;
  return (
    <Picture
      title="Changes from span to span"
      sub="medians of the steps, the largest change first"
      name="changes"
      table={() => tableOf(changes)}
      drawn={false}
    >
      <ul class="changes">
        {changes.slice(0, MOST).map((change) => (
          <li key={`${change.run} ${change.metric} ${change.span}`}>
            <Sentence phrase={change.text} />{" "}
            <button type="button" class="link" onClick={() => tab.update({ metric: change.metric, run: change.run })}>
              Show
            </button>
          </li>
        ))}
        {more > 0 && <li class="quiet">{more} more in the table</li>}
      </ul>
    </Picture>
  );
}

function tableOf(changes: readonly Change[]): TableData {
  return {
    columns: [{ label: "Run" }, { label: "Worker" }, { label: "From span", unit: "count" }, { label: "Change" }],
    rows: changes.map((change) => [change.run, change.worker, change.span, sentence(change.text, "table")]),
  };
}
