/** The job's own scalars (loss, throughput) on the axis of the pictures. */

import { extent } from "d3-array";
import type { ScalarSeries, Scalars } from "../../api.gen";
import type { OverlayPoint } from "../../charts/lines/line_layout";
import type { ViewSource } from "../../server/client";
import { useRequested } from "../../server/requested";
import type { Over, TrendAxis } from "./axis";
import type { Run } from "./runs";

const NOTHING: Scalars = { tags: [], series: [] };

/**
 * The scalars of a run: its tags, and the series of one tag; empty until they arrive, and where there are none.
 */
export const useScalars = (source: ViewSource, run: string, tag: string | null): Scalars =>
  useRequested(source, JSON.stringify([run, tag]), (signal) => source.scalars(run, tag, signal)).page ?? NOTHING;

/** The position of each value on the axis; values for which the axis has no place are left out. */
export function placed(series: ScalarSeries, over: Over, axis: TrendAxis, run: Run): OverlayPoint[] {
  switch (over) {
    case "steps":
      return bySteps(series, axis, run);
    case "spans":
      return bySpans(series, axis, run);
    case "time":
      return byTime(series, axis);
    default:
      return over satisfies never;
  }
}

/** Matches the profiler's steps by number: where the job counts differently, wall time is the axis to choose. */
function bySteps({ steps, values }: ScalarSeries, { pointsOf, stops }: TrendAxis, run: Run): OverlayPoint[] {
  const byStep = new Map(steps.map((step, at) => [String(step), values[at] ?? null]));
  return pointsOf(run).flatMap(({ stop, aggregate }) => {
    const value = aggregate ? byStep.get(aggregate.step) : undefined;
    return value == null ? [] : [{ ...place(stops[stop]!), value }];
  });
}

/** The value at the end of each span: that of the last step that was logged until then. */
function bySpans(series: ScalarSeries, { pointsOf, stops }: TrendAxis, run: Run): OverlayPoint[] {
  return pointsOf(run).flatMap(({ stop, aggregate }) => {
    const span = run.spans.find(({ number }) => number === aggregate?.number);
    const end = span && span.result.origin_ns + (span.result.steps.at(-1)?.end_ns ?? 0);
    const value = end === undefined ? null : lastUntil(series, end);
    return value === null ? [] : [{ ...place(stops[stop]!), value }];
  });
}

function lastUntil({ wall_ns: times, values }: ScalarSeries, end_ns: number): number | null {
  const at = times.findLastIndex((time, index) => time <= end_ns && values[index] != null);
  return at < 0 ? null : values[at]!;
}

function byTime({ wall_ns: times, values }: ScalarSeries, { segments }: TrendAxis): OverlayPoint[] {
  return times.flatMap((time, at): OverlayPoint[] => {
    const value = values[at] ?? null;
    const segment = segments.findIndex(({ from, to }) => from <= time && time <= to);
    return value === null || segment < 0 ? [] : [{ segment, at: time, value }];
  });
}

const place = ({ segment, at }: TrendAxis["stops"][number]) => ({ segment, at });

/** The time range in which the job logged anything, ns: over wall time the axis then shows all of it. */
export function loggedRange(series: readonly ScalarSeries[]): readonly [from: number, to: number] | null {
  const times = series.flatMap(({ wall_ns }) => wall_ns);
  const [from, to] = extent(times);
  return from === undefined ? null : [from, to];
}
