/** A metric of all ranks of a job, out of what a report holds of each span. */

import type { RankMap, TrendSpan, TrendsResult } from "../api.gen";

const BY_NAME = new Intl.Collator("en", { numeric: true });

/** Of the spans of the same run and number as this one. As `tb_steptime/serve/ranks/map.py` makes it. */
export function rankMapOf(rows: readonly TrendSpan[], span: string, metric: string): RankMap {
  const chosen = rows.find(({ id }) => id === span);
  const ranks = rows.filter(({ run, number }) => run === chosen?.run && number === chosen.number);
  const steps = [...new Set(ranks.flatMap(({ result }) => result?.steps.map(({ name }) => name) ?? []))];
  steps.sort(BY_NAME.compare);
  const values = Float32Array.from(ranks.flatMap(({ result }) => valuesOf(result, metric, steps)));
  const reasons = ranks.map(({ result }) => result?.series.find((series) => series.metric === metric)?.reason ?? null);
  return {
    metric,
    spans: ranks.map(({ id }) => id),
    steps,
    values: letters(values),
    least_high: 0,
    reason: values.some((value) => !Number.isNaN(value)) ? null : (reasons.find((reason) => reason !== null) ?? null),
  };
}

function valuesOf(result: TrendsResult | null, metric: string, steps: readonly string[]): number[] {
  const series = result?.series.find((each) => each.metric === metric);
  return steps.map((name) => {
    const at = result?.steps.findIndex((step) => step.name === name) ?? -1;
    return series?.steps[at] ?? Number.NaN;
  });
}

/** Base64 of 32-bit floats, little endian, of which the first is none of the values. */
function letters(values: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(4 * (values.length + 1)));
  for (const [at, value] of values.entries()) bytes.setFloat32(4 * (at + 1), value, true);
  let said = "";
  for (const byte of new Uint8Array(bytes.buffer)) said += String.fromCharCode(byte);
  return btoa(said);
}
