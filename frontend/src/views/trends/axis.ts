/** What the lines are drawn over: steps, spans, or the time at which they were recorded. */

import { cached } from "../../cached";
import type { LineSegment, LineStop } from "../../charts/lines/line_layout";
import { clockSeconds, date } from "../../format";
import { byName } from "../../words";
import type { Run, StepAggregate } from "./runs";

export const OVERS = [
  ["steps", "Steps"],
  ["spans", "Spans"],
  ["time", "Wall time"],
] as const;

export type Over = (typeof OVERS)[number][0];

export const isOver = (name: string | undefined): name is Over => OVERS.some(([over]) => over === name);

export interface TrendAxis {
  over: Over;
  segments: LineSegment[];
  stops: LineStop[];
  pad: number;
  /**
   * The aggregates of a run at each of its points: the stop, and the aggregate or null where this run has none there.
   */
  pointsOf(run: Run): AxisPoint[];
  /** The same as columns, by the aggregates of a run: they are kept, because every picture uses them. */
  placesOf(run: Run): Places;
}

interface AxisPoint {
  stop: number;
  aggregate: StepAggregate | null;
}

interface Places {
  aggregates: readonly StepAggregate[];
  stop: Int32Array;
  /** Index among the aggregates; -1 where the run has none. */
  at: Int32Array;
}

/** also: a time range that an axis over time must cover as well. */
export function axisOver(over: Over, runs: readonly Run[], also: TimeRange | null = null): TrendAxis {
  const { placesOf, ...axis } = axisWith(over, runs, also);
  const cache = new WeakMap<readonly StepAggregate[], Places>();
  const places = (run: Run) => cached(cache, run.steps, () => placesOf(run));
  return { ...axis, over, placesOf: places, pointsOf: (run) => pointsAt(places(run)) };
}

const pointsAt = ({ aggregates, stop, at }: Places): AxisPoint[] =>
  Array.from(stop, (place, index) => ({ stop: place, aggregate: aggregates[at[index]!] ?? null }));

type Placing = Omit<TrendAxis, "over" | "pointsOf">;

function axisWith(over: Over, runs: readonly Run[], also: TimeRange | null): Placing {
  switch (over) {
    case "steps":
      return overSteps(runs);
    case "spans":
      return overSpans(runs);
    case "time":
      return overTime(runs, also);
    default:
      return over satisfies never;
  }
}

/** Room at the ends of a segment, in steps. */
const STEP_PAD = 0.6;

function overSteps(runs: readonly Run[]): Placing {
  const aggregates = union(runs.flatMap((run) => run.steps));
  const numbers = [...new Set(aggregates.map((aggregate) => aggregate.number))];
  const stops: LineStop[] = [];
  const segments = numbers.map((number, segment): LineSegment => {
    const steps = aggregates.filter((aggregate) => aggregate.number === number);
    stops.push(...steps.map((step, at) => ({ key: step.key, segment, at })));
    const marks = steps.map((step, at) => ({ at, text: step.step }));
    return { from: 0, to: steps.length - 1, caption: numbers.length > 1 ? `span ${number}, step` : "step", marks };
  });
  return { segments, stops, pad: STEP_PAD, placesOf: (run) => atEveryStop(stops, run.steps) };
}

function overSpans(runs: readonly Run[]): Placing {
  const aggregates = union(runs.flatMap((run) => run.wholes));
  const stops = aggregates.map((aggregate, at) => ({ key: aggregate.key, segment: 0, at }));
  const marks = aggregates.map((aggregate, at) => ({ at, text: String(aggregate.number) }));
  const segments = [{ from: 0, to: Math.max(0, aggregates.length - 1), caption: "span", marks }];
  return { segments, stops, pad: STEP_PAD, placesOf: (run) => atEveryStop(stops, run.wholes) };
}

/** One aggregate per key, ordered by span and step. */
function union(aggregates: readonly StepAggregate[]): StepAggregate[] {
  const distinct = new Map(aggregates.map((aggregate) => [aggregate.key, aggregate]));
  return [...distinct.values()].sort((a, b) => a.number - b.number || byName(a.step, b.step));
}

/** A run that lacks a step has a break there. */
function atEveryStop(stops: readonly LineStop[], aggregates: readonly StepAggregate[]): Places {
  const own = new Map(aggregates.map(({ key }, at) => [key, at]));
  return {
    aggregates,
    stop: Int32Array.from(stops, (_, stop) => stop),
    at: Int32Array.from(stops, ({ key }) => own.get(key) ?? -1),
  };
}

/** A pause longer than this share of the recorded time around it is a break. */
const PAUSE_FRACTION = 0.5;

/** With more ranges the axis is one continuous line of time: breaks would hide its scale. */
const MAX_RANGES = 8;

const TIME_PAD_FRACTION = 0.03;

function overTime(runs: readonly Run[], also: TimeRange | null): Placing {
  const aggregates = runs.flatMap((run) => run.steps).sort((a, b) => a.start - b.start);
  const ranges = recordedRanges(runs, also);
  const pad = TIME_PAD_FRACTION * ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  const stops: LineStop[] = [];
  const stopOf = new Map<StepAggregate, number>();
  for (const aggregate of aggregates) {
    stopOf.set(aggregate, stops.length);
    stops.push({
      key: aggregate.key,
      segment: ranges.findIndex(([, to]) => aggregate.start <= to),
      at: aggregate.start,
    });
  }
  let day = "";
  const segments = ranges.map(([from, to]): LineSegment => {
    const caption = date(from) === day ? "" : date(from);
    day = date(from);
    return { from, to, caption, marks: marksWithin(from, to, ranges.length) };
  });
  return { segments, stops, pad, placesOf: ({ steps }) => inTime(steps, stopOf) };
}

function marksWithin(from: number, to: number, ranges: number): { at: number; text: string }[] {
  const count = ranges > 3 ? 1 : 3;
  return Array.from({ length: count }, (_, at) => from + ((to - from) * at) / Math.max(1, count - 1)).map((at) => ({
    at,
    text: clockSeconds(at / 1e6),
  }));
}

/** A run's own steps, with a break wherever a span ends. */
function inTime(steps: readonly StepAggregate[], stopOf: ReadonlyMap<StepAggregate, number>): Places {
  const places = steps.flatMap((aggregate, at) => {
    const stop = stopOf.get(aggregate)!;
    const ends = at + 1 < steps.length && steps[at + 1]!.number !== aggregate.number;
    return ends ? [[stop, at] as const, [stop, -1] as const] : [[stop, at] as const];
  });
  return {
    aggregates: steps,
    stop: Int32Array.from(places, ([stop]) => stop),
    at: Int32Array.from(places, ([, at]) => at),
  };
}

type TimeRange = readonly [from: number, to: number];

function recordedRanges(runs: readonly Run[], also: TimeRange | null): TimeRange[] {
  const windows = runs.flatMap((run) =>
    run.spans.map((span): TimeRange => {
      const { origin_ns: origin, steps } = span.result;
      return [origin + (steps[0]?.start_ns ?? 0), origin + (steps[steps.length - 1]?.start_ns ?? 0)];
    }),
  );
  if (also) windows.push(also);
  windows.sort((a, b) => a[0] - b[0]);
  const recorded = windows.reduce((sum, [from, to]) => sum + to - from, 0);
  const joined: [number, number][] = [];
  for (const [from, to] of windows) {
    const last = joined[joined.length - 1];
    if (last && from - last[1] <= PAUSE_FRACTION * recorded) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  if (joined.length <= MAX_RANGES) return joined;
  return [[joined[0]![0], joined[joined.length - 1]![1]]];
}
