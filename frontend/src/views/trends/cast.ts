/** Which runs are drawn one by one, and which together: a person can tell about twelve lines apart. */

import { shortNames } from "../../address/short_names";
import type { Phrase, TrendsPage } from "../../api.gen";
import { RUN_COLOURS } from "../../colour";
import { medianOf, type Run, stepValue } from "./runs";

/** Of many runs those that were searched for, at most. */
const MOST_FOUND = 6;

export interface Cast {
  /** Each with its own colour; the one in focus last. */
  lines: readonly Run[];
  /** All others, spoken of by their median and quartiles. */
  group: readonly Run[];
}

/** compared: a run that stays in sight; typed: what was searched for, in lower case. */
export function castOf(runs: readonly Run[], focus: string | null, compared: string | null, typed: string): Cast {
  const last = runs.find((run) => run.name === focus) ?? runs.at(-1);
  if (runs.length <= RUN_COLOURS) return { lines: focusLast(coloured(runs), last?.name ?? null), group: [] };
  const found = typed === "" ? [] : runs.filter((run) => run !== last && matches(run, typed)).slice(0, MOST_FOUND);
  const alone = new Set([...found.map(({ name }) => name), compared, last!.name]);
  const lines = coloured(runs.filter((run) => alone.has(run.name)));
  return { lines: focusLast(lines, last!.name), group: runs.filter((run) => !alone.has(run.name)) };
}

export const matches = ({ name }: Run, typed: string): boolean =>
  typed.split(/\s+/).every((word) => name.toLowerCase().includes(word));

const coloured = (runs: readonly Run[]): readonly Run[] => runs.map((run, hue) => ({ ...run, hue }));

/** The pictures take the last run for the one in focus, and draw it over the others. */
const focusLast = (runs: readonly Run[], focus: string | null): readonly Run[] => [
  ...runs.filter((run) => run.name !== focus),
  ...runs.filter((run) => run.name === focus),
];

/** Runs by their mean of a metric, highest first; those without it are left out. */
export function ranked(runs: readonly Run[], metric: string): { run: Run; value: number }[] {
  const means = runs.flatMap((run) => {
    const known = run.steps.map((step) => stepValue(step, metric).value).filter((value) => value !== null);
    return known.length === 0 ? [] : [{ run, value: known.reduce((sum, value) => sum + value, 0) / known.length }];
  });
  return means.sort((a, b) => b.value - a.value);
}

export interface Quartiles {
  median: number;
  low: number;
  high: number;
}

/** Null where nothing is known. A quartile is the median of the values from the least to the median, or from it on. */
export function quartilesOf(values: readonly number[]): Quartiles | null {
  const known = [...values].sort((a, b) => a - b);
  const median = medianOf(known);
  if (median === null) return null;
  const half = Math.ceil(known.length / 2);
  return { median, low: medianOf(known.slice(0, half))!, high: medianOf(known.slice(-half))! };
}

/** The page as its runs are called here: sentences of the server name them in full. */
export function withShortNames(page: TrendsPage): TrendsPage {
  const labels = shortNames(page.spans.map(({ run }) => run));
  const named = (phrase: Phrase): Phrase => ({ ...phrase, values: renamed(phrase.values, labels) });
  const { headline, titles, changes } = page;
  return {
    ...page,
    headline: { ...headline, verdict: named(headline.verdict), action: headline.action && named(headline.action) },
    titles: Object.fromEntries(Object.entries(titles).map(([id, title]) => [id, named(title)])),
    changes: changes.map((change) => ({ ...change, text: named(change.text) })),
  };
}

/** Values that are the name of a run; figures and other words stay. */
const renamed = (values: Phrase["values"], labels: ReadonlyMap<string, string>): Phrase["values"] =>
  Object.fromEntries(
    Object.entries(values).map(([key, quantity]) => {
      const label = quantity.unit === "text" && labels.get(String(quantity.value));
      return [key, label ? { ...quantity, value: label } : quantity];
    }),
  );
