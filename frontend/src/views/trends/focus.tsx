/** The run in focus: which line is which run, and the way to the views of a span. */

import { LineSample } from "../../colour";
import { Chips } from "../../components/chips";
import type { StepSelection } from "../choices";
import type { Tab } from "../props";
import { stopTitle } from "./lines";
import type { Run } from "./runs";

/** More names would push the figures out of sight. */
const MOST = 5;

/** Next to a longer name there is no room for the rule. */
const SHORT_NAME = 20;

/** Which line is which run; a press brings a run into focus. One run needs no telling. */
export function RunLegend({ runs, choose }: { runs: readonly Run[]; choose(run: string): void }) {
  const [focus, ...others] = [...runs].reverse();
  if (!focus || others.length === 0) return null;
  const more = others.length - MOST;
  return (
    <ul class="run-legend">
      <li>
        <LineSample focus />
        {nameOf(focus)}, the run in focus
      </li>
      {others.slice(0, MOST).map((run) => (
        <li key={run.name} class="quiet">
          <LineSample focus={false} />
          <span class="clip">
            <button data-hint={`Show ${run.name} in focus`} onClick={() => choose(run.name)}>
              {nameOf(run)}
            </button>
            {others.length === 1 && run.name.length <= SHORT_NAME && ". Runs differ by line, never by colour"}
          </span>
        </li>
      ))}
      {more > 0 && (
        <li class="quiet">
          <span />
          and {more} more
        </li>
      )}
    </ul>
  );
}

const nameOf = ({ name, workers }: Run): string =>
  workers > 1 ? `${name} (mean and range of ${workers} workers)` : name;

interface OpenSpanProps {
  run: Run;
  chosen: StepSelection;
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
          label={`Open ${stopTitle(chosen.selected!)} of ${run.name}`}
          name="Open in"
          chosen=""
          options={views.map(({ id, title }) => ({
            id,
            label: title,
            meaning: `${stopTitle(chosen.selected!)} of ${run.name}`,
          }))}
          choose={open}
        />
      ) : (
        <p class="quiet small">Click a point of the picture: its span opens here.</p>
      )}
    </div>
  );
}
