/**
 * The series of a metric. With many spans a page contains those that are always shown; another one is loaded when it is
 * chosen, and is kept next to the result to which it belongs.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Metric, Series, TrendSeries, TrendSpan, TrendsPage, TrendsResult } from "../../api.gen";
import { inRounds, retryPause } from "../../server/watch";
import type { Tab } from "../props";

const LATER = new WeakMap<TrendsResult, Map<string, Series>>();

export const seriesOf = (result: TrendsResult, metric: string): Series | undefined =>
  result.series.find((each) => each.metric === metric) ?? LATER.get(result)?.get(metric);

/** Adds the loaded series to the spans to which they belong. */
function learn(spans: readonly TrendSpan[], { metric, spans: ids, values, steps, reasons }: TrendSeries): void {
  const place = new Map(ids.map((id, at) => [id, at]));
  for (const { id, result } of spans) {
    const at = place.get(id);
    if (result === null) continue;
    const known = LATER.get(result) ?? new Map<string, Series>();
    LATER.set(result, known);
    known.set(metric, {
      metric,
      device: null,
      value: at === undefined ? null : values[at]!,
      steps: at === undefined ? [] : steps[at]!,
      reason: reasons[id] ?? null,
    });
  }
}

/**
 * The chosen metric once its series have arrived, until then the previous one; they are requested where the page does
 * not have them. runs: those of the page, none named means all.
 */
export function useMetric(page: TrendsPage, runs: readonly string[], tab: Tab): Metric {
  const { metrics } = tab.meanings;
  const chosen = metrics.find(({ id }) => id === tab.state.metric) ?? metrics[0]!;
  const [, drawAgain] = useState(0);
  const { spans } = page;
  const there = has(spans, chosen.id);
  const named = runs.join("\n");
  useEffect(() => {
    if (there) return;
    let unanswered = 0;
    const rounds = inRounds(async (signal) => {
      const answer = await tab.series.series(named === "" ? [] : named.split("\n"), chosen.id, signal);
      if (signal.aborted) return null;
      if (answer.kind === "ready") {
        learn(spans, answer.value);
        drawAgain((drawn) => drawn + 1);
      }
      unanswered += 1;
      return answer.kind === "gone" ? retryPause(unanswered) : null;
    });
    return rounds.stop;
  }, [there, spans, named, chosen.id, tab.series]);
  const shown = useRef(metrics[0]!);
  if (there) shown.current = chosen;
  return has(spans, shown.current.id) ? shown.current : metrics[0]!;
}

/** Whether the series have arrived; where no span has been read, none is requested. */
function has(spans: readonly TrendSpan[], metric: string): boolean {
  const result = spans.find((span) => span.result !== null)?.result;
  return !result || seriesOf(result, metric) !== undefined;
}
