/** The lines of a picture as a table: to read, copy and export. */

import type { Metric } from "../../api.gen";
import type { TableData } from "../../components/data_table";
import type { TrendAxis } from "./axis";
import { MANY_WORKERS, type Run, stepValue } from "./runs";

/** A row for each point; workers have a column where they are lines of their own. */
export function tableOf(metric: Metric, runs: readonly Run[], axis: TrendAxis): TableData {
  const figure = (label: string) => ({ label, unit: metric.unit });
  const byWorker = runs.some((run) => run.worker !== undefined);
  const most = runs.reduce((many, run) => Math.max(many, run.workers), 0);
  const [low, high] = most >= MANY_WORKERS ? ["10th percentile", "90th percentile"] : ["Least", "Greatest"];
  const columns = [
    { label: "Run" },
    ...(byWorker ? [{ label: "Worker" }] : []),
    { label: "Span", unit: "count" as const },
    { label: "Step" },
    figure(metric.label),
    ...(most > 1 ? [figure(`${low} of its workers`), figure(`${high} of its workers`)] : []),
  ];
  const rows = runs.flatMap((run) =>
    axis.pointsOf(run).flatMap(({ aggregate }) => {
      if (!aggregate) return [];
      const { value, low, high } = stepValue(aggregate, metric.id);
      const place = byWorker ? [run.name.split("\n")[0]!, run.worker ?? ""] : [run.name];
      return [[...place, aggregate.number, aggregate.step, value, low, high].slice(0, columns.length)];
    }),
  );
  return { columns, rows };
}
