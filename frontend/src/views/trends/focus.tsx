/** The run in focus: which line is which run, and the way to the views of a span. */

import { useMemo } from "preact/hooks";
import type { Metric } from "../../api.gen";
import { LineSample } from "../../colour";
import { Chips } from "../../components/chips";
import { hint } from "../../dom/hint";
import { counted, text } from "../../format";
import type { Tab } from "../props";
import { ranked } from "./cast";
import type { TrendSelection } from "./hover";
import { stopTitle } from "./lines";
import type { Run } from "./runs";

interface RunLegendProps {
  /** Drawn one by one, the one in focus last. */
  runs: readonly Run[];
  /** Drawn together. */
  group: readonly Run[];
  compared: string | null;
  metric: Metric;
  choose(run: string): void;
}

/** Which line is which run; a press brings a run into focus. One run needs no telling. */
export function RunLegend({ runs, group, compared, metric, choose }: RunLegendProps) {
  const [focus, ...others] = [...runs].reverse();
  if (!focus || others.length + group.length === 0) return null;
  return (
    <>
      <ul class="run-legend" aria-label="Runs">
        <li>
          <LineSample focus hue={focus.hue} />
          <span class="clip" {...hint(focus.name)}>
            {nameOf(focus)}, in focus
          </span>
        </li>
        {others.reverse().map((run) => (
          <li key={run.name}>
            <LineSample focus={false} hue={run.hue} strong={run.name === compared} />
            <span class="clip">
              <RunButton run={run} choose={choose} />
              {run.name === compared && ", compared with"}
            </span>
          </li>
        ))}
        {group.length > 0 && (
          <li class="quiet">
            <LineSample focus={false} />
            {counted(group.length, "other run")}: median, and the band that holds half of them
          </li>
        )}
      </ul>
      {group.length > 0 && <Extremes runs={[...runs, ...group]} metric={metric} choose={choose} />}
    </>
  );
}

function RunButton({ run, choose }: { run: Run; choose(run: string): void }) {
  return (
    <button data-hint={`Show ${run.name} in focus`} onClick={() => choose(run.name)}>
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
  workers > 1 ? `${label} (mean and range of ${workers} workers)` : label;

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
