/** The run in focus: which line is which run, and the way to the views of a span. */

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
  /** Drawn one by one, the one in focus last. */
  runs: readonly Run[];
  /** Drawn together. */
  group: readonly Run[];
  of: Cast["of"];
  compared: string | null;
  metric: Metric;
  choose(run: Run): void;
  /** Names of runs that are not drawn, and OTHERS. */
  off: ReadonlySet<string>;
  hide(off: ReadonlySet<string>): void;
}

/** The runs that are drawn together, as one entry. No folder's name has a line break. */
export const OTHERS = "\n";

/**
 * Which line is which run; a press on its line hides a run or draws it again, a press on its name brings it into focus.
 * One run needs no telling.
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

/** Runs named at either end of the order. */
const MOST_NAMED = 3;

/** Of many runs those that stand out, whichever end is the bad one. */
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

interface OpenSpanProps {
  run: Run;
  chosen: TrendSelection;
  tab: Tab;
}

/** From the kept point to the views of its span. Its place stands before a point is kept. */
export function OpenSpan({ run, chosen, tab }: OpenSpanProps) {
  const [number, step] = (chosen.selected ?? "").split("/");
  const span = run.spans.find((each) => String(each.number) === number);
  const views = tab.meanings.views.filter((view) => view.id !== "trends");
  const open = (view: string) =>
    span && tab.update({ view, run: span.run, worker: span.worker, span: span.number, step: step || null, zoom: null });
  return (
    <div class="open-span">
      {span ? (
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
      ) : (
        <p class="quiet small">Click a point of the picture: its span opens here.</p>
      )}
    </div>
  );
}
