import { LineSample } from "../line_sample";
import type { Run } from "./runs";

/** More names would push the figures out of sight. */
const MOST = 5;

/** Beside a longer name there is no room for the rule. */
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
            <button title={`Show ${run.name} in focus`} onClick={() => choose(run.name)}>
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
