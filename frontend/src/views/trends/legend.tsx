import type { Run } from "./runs";

/** A short piece of a line, as the legend shows it. */
export function LineSample({ focus }: { focus: boolean }) {
  return (
    <svg class={`plot sample ${focus ? "of-ink" : ""}`} width="24" height="10" aria-hidden="true">
      <path class={focus ? "line" : "line others"} d="M0 5h24" />
      <circle class={focus ? "mark" : "hollow"} cx="12" cy="5" r="3.2" />
    </svg>
  );
}

/** More names would push the figures out of sight. */
const MOST = 5;

/** Which line is which run. One run needs no telling. */
export function RunLegend({ runs }: { runs: readonly Run[] }) {
  const [focus, ...others] = [...runs].reverse();
  if (!focus || others.length === 0) return null;
  const more = others.length - MOST;
  return (
    <ul class="run-legend">
      <li><LineSample focus />{nameOf(focus)}, the run in focus</li>
      {others.slice(0, MOST).map((run, at) => (
        <li key={run.name} class="quiet"><LineSample focus={false} /><span class="clip">{nameOf(run)}{at === 0 && ". Runs differ by line, never by colour"}</span></li>
      ))}
      {more > 0 && <li class="quiet"><span />and {more} more</li>}
    </ul>
  );
}

const nameOf = ({ name, workers }: Run): string => (workers > 1 ? `${name} (mean and range of ${workers} workers)` : name);
