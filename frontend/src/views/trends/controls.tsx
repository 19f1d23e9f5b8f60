/** The choices for Trends: which metric, over what, of which runs. */

import { shortNames } from "../../address/short_names";
import type { Metric } from "../../api.gen";
import { Chips } from "../../components/chips";
import { toggled } from "../../components/legend";
import { Dropdown } from "../../components/popup";
import { count, shortened } from "../../format";
import { MetricChips } from "../chips";
import { usualRuns } from "../choices";
import type { Tab } from "../props";
import { QUICK } from "./asked";
import { OVERS, type Over } from "./axis";

interface ControlsProps {
  metric: Metric;
  over: Over;
  /** All runs, and the names of those that are shown. */
  runs: readonly string[];
  shown: ReadonlySet<string>;
  tab: Tab;
}

export function Controls({ metric, over, runs, shown, tab }: ControlsProps) {
  return (
    <div class="controls">
      <MetricChips
        metric={metric}
        metrics={tab.meanings.metrics}
        quick={QUICK}
        choose={(id) => tab.update({ metric: id })}
      />
      <div class="push">
        {runs.length > 1 && <RunChooser runs={runs} shown={shown} tab={tab} />}
        <Chips
          label="Over"
          name="Over"
          chosen={over}
          options={OVERS.map(([id, label]) => ({ id, label }))}
          choose={(id) => tab.update({ over: id, step: null })}
        />
      </div>
    </div>
  );
}

function RunChooser({ runs, shown, tab }: Pick<ControlsProps, "runs" | "shown" | "tab">) {
  const all = runs.every((run) => shown.has(run));
  const labels = shortNames(runs);
  const usual = usualRuns(tab);
  const choose = (next: ReadonlySet<string>) => {
    const asUsual = next.size === 0 || (next.size === usual.length && usual.every((run) => next.has(run)));
    const every = next.size === runs.length;
    tab.update({ runs: asUsual || every ? null : [...next], among: every && !asUsual ? "all" : null });
  };
  const name = all ? `all ${count(runs.length)}` : `${count(shown.size)} of ${count(runs.length)}`;
  return (
    <div class="chips">
      <span class="k">Runs</span>
      <Dropdown name={`${name}…`} search="Search runs" right>
        {(typed) => (
          <>
            <button onClick={() => choose(new Set(runs))}>Show all</button>
            {usual.length < runs.length && <button onClick={() => choose(new Set())}>Those of the same work</button>}
            {runs
              .filter((run) => run.toLowerCase().includes(typed))
              .map((run) => (
                <label key={run}>
                  <input type="checkbox" checked={shown.has(run)} onChange={() => choose(toggled(run, shown))} />
                  <span class="clip" data-hint={run}>
                    {labels.get(run)}
                  </span>
                </label>
              ))}
          </>
        )}
      </Dropdown>
    </div>
  );
}

interface ScalarPickerProps {
  tags: readonly string[];
  chosen: string | null;
  choose(tag: string | null): void;
}

/** The most characters of a tag on the button. */
const TAG_LENGTH = 22;

export function ScalarPicker({ tags, chosen, choose }: ScalarPickerProps) {
  return (
    <div class="chips scalar-picker">
      <Dropdown name={chosen === null ? "Add a scalar…" : shortened(chosen, TAG_LENGTH)} search="Search scalars" right>
        {(typed, close) => {
          const pick = (tag: string | null) => {
            close();
            choose(tag);
          };
          return (
            <>
              <button aria-pressed={chosen === null} onClick={() => pick(null)}>
                none
              </button>
              {tags
                .filter((tag) => tag.toLowerCase().includes(typed))
                .map((tag) => (
                  <button key={tag} aria-pressed={tag === chosen} onClick={() => pick(tag)}>
                    {tag}
                  </button>
                ))}
            </>
          );
        }}
      </Dropdown>
    </div>
  );
}
