/** The run in focus: which line is which run, and links to the views of a span. */

import { useMemo } from "preact/hooks";
import type { Metric } from "../../api.gen";
import { type LineLook, LineSample } from "../../colour";
import { Chips } from "../../components/chips";
import { toggled } from "../../components/legend";
import { hint } from "../../dom/hint";
import { counted, text } from "../../format";
import type { Tab } from "../props";
import { type Cast, ranked } from "./cast";
import type { TrendSelection } from "./hover";
import { stopTitle } from "./lines";
import { MANY_WORKERS, type Run } from "./runs";

interface RunLegendProps {
  /** Drawn individually, the one in focus last. */
  runs: readonly Run[];
  /** Drawn as one group. */
  group: readonly Run[];
  of: Cast["of"];
  compared: string | null;
  metric: Metric;
  choose(run: Run): void;
  /** Names of hidden runs, and OTHERS where the group is hidden. */
  off: ReadonlySet<string>;
  hide(off: ReadonlySet<string>): void;
}

/** The entry for the runs that are drawn as one group. No folder name contains a line break. */
export const OTHERS = "\n";

/**
 * Which line is which run; a click on a line hides its run or shows it again, a click on a name puts the run in focus.
 * A single run needs no legend.
 */
export function RunLegend({ runs, group, of, compared, metric, choose, off, hide }: RunLegendProps) {
  const line = (id: string, name: string, look: LineLook) => (
    <button
      class={off.has(id) ? "line-key off" : "line-key"}
      aria-pressed={!off.has(id)}
      aria-label={`Draw ${name}`}
      data-hint={off.has(id) ? `Draw ${name}` : `Hide ${name}`}
      onClick={() => hide(toggled(id, off))}
    >
      <LineSample {...look} />
    </button>
  );
  const [focus, ...others] = [...runs].reverse();
  if (!focus || others.length + group.length === 0) return null;
  return (
    <>
      <ul class="run-legend" aria-label={of === "runs" ? "Runs" : "Workers"}>
        <li>
          <LineSample focus hue={focus.hue} />
          <span class="clip" {...hint(focus.name)}>
            {of === "runs" ? `${nameOf(focus)}, in focus` : nameOf(focus)}
          </span>
        </li>
        {others.reverse().map((run) => (
          <li key={run.name}>
            {line(run.name, run.label, { focus: false, hue: run.hue, strong: run.name === compared })}
            <span class="clip">
              <RunButton run={run} choose={choose} />
              {run.name === compared && ", compared with"}
            </span>
          </li>
        ))}
        {group.length > 0 && of === "runs" && (
          <li class="quiet">
            {line(OTHERS, "the other runs", { focus: false })}
            {counted(group.length, "other run")}: median, and the band that holds 80 % of them
          </li>
        )}
        {group.length > 0 && of === "workers" && (
          <li class="quiet">
            <span />
            {counted(group.length, "other worker")}: point at the picture, or search
          </li>
        )}
      </ul>
      {group.length > 0 && (
        <Extremes runs={of === "runs" ? [...runs, ...group] : [...others, ...group]} metric={metric} choose={choose} />
      )}
    </>
  );
}

function RunButton({ run, choose }: { run: Run; choose(run: Run): void }) {
  return (
    <button
      data-hint={run.worker === undefined ? `Show ${run.name} in focus` : `Choose ${run.worker}`}
      onClick={() => choose(run)}
    >
      {nameOf(run)}
    </button>
  );
}

/** How many runs are named at either end of the ranking. */
const MOST_NAMED = 3;

/** The runs at both ends of the ranking, whichever end is the bad one. */
function Extremes({ runs, metric, choose }: Pick<RunLegendProps, "metric" | "choose"> & { runs: readonly Run[] }) {
  const all = useMemo(() => ranked(runs, metric.id), [runs, metric]);
  const named = (title: string, entries: typeof all) => (
    <p class="extremes">
      <span class="quiet">{title}: </span>
      {entries.map(({ run, value }, at) => (
        <>
          {at > 0 && ", "}
          <RunButton run={run} choose={choose} /> {text(value, metric.unit)}
        </>
      ))}
    </p>
  );
  if (all.length <= 2 * MOST_NAMED) return null;
  return (
    <>
      {named(`Highest ${metric.label}`, all.slice(0, MOST_NAMED))}
      {named("Lowest", all.slice(-MOST_NAMED).reverse())}
    </>
  );
}

const nameOf = ({ label, workers }: Run): string =>
  workers >= MANY_WORKERS
    ? `${label}: median of ${workers} workers, band of 80 %`
    : workers > 1
      ? `${label} (mean and range of ${workers} workers)`
      : label;

/** What the hint of the picture says. */
export const HOW_TO_OPEN = "Click a point to open its span.";

/** Links from the selected point to the views of its span. Its place is reserved before a point is selected. */
export function OpenSpan({ run, chosen, tab }: { run: Run; chosen: TrendSelection; tab: Tab }) {
  const [number, step] = (chosen.selected ?? "").split("/");
  const span = run.spans.find((each) => String(each.number) === number);
  const views = tab.meanings.views.filter((view) => view.id !== "trends");
  const open = (view: string) =>
    span && tab.update({ view, run: span.run, worker: span.worker, span: span.number, step: step || null, zoom: null });
  return (
    <div class="open-span">
      {span && (
        <Chips
          label={`Open ${stopTitle(chosen.selected!)} of ${run.label}`}
          name="Open in"
          chosen=""
          options={views.map(({ id, title }) => ({
            id,
            label: title,
            meaning: `${stopTitle(chosen.selected!)} of ${run.label}`,
          }))}
          choose={open}
        />
      )}
    </div>
  );
}
