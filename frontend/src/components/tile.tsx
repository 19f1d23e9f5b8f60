/** A figure as a tile, with its course over the steps and the change from the previous span. */

import type { ComponentChildren } from "preact";
import type { Neighbour, Phrase, Series, SpanHead, Unit } from "../api.gen";
import { Spark, type SparkRun } from "../charts/lines/spark";
import { hint } from "../dom/hint";
import { change, type Figure, figure, scaleFor } from "../format";
import type { Meanings } from "../meanings";
import { sentence } from "../phrase";
import { Sentence } from "./sentence";

interface TileProps {
  label: string;
  meaning: string;
  figure: Figure;
  /** A second figure on the same line, when two spans are compared. */
  other?: Figure | undefined;
  spark?: ComponentChildren;
  /** The change line: how the figure changed, or why there is none. */
  remark?: ComponentChildren;
}

/**
 * A figure with its name, its course over the steps and what changed. All tiles have the same height, whatever is
 * known.
 */
function Tile({ label, meaning, figure, other, spark, remark }: TileProps) {
  return (
    <li {...hint(meaning)}>
      <div class="k">{label}</div>
      <div class="v">
        <div>
          <Value figure={figure} />
          {other && (
            <small class="other">
              <Value figure={other} />
            </small>
          )}
        </div>
        {spark}
      </div>
      <div class="d">{remark ?? "\u00a0"}</div>
    </li>
  );
}

function Value({ figure: { number, unit } }: { figure: Figure }) {
  return (
    <>
      {number}
      {unit && <span>{unit}</span>}
    </>
  );
}

/** A row of tiles; `label` tells a screen reader what they are. */
export function Tiles({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <ul class="tiles" aria-label={label}>
      {children}
    </ul>
  );
}

/** A tile before its figure arrives: it has its place and name, so that nothing moves later. */
export function TilePlace({ label }: { label: string }) {
  return (
    <li>
      <div class="k">{label}</div>
      <div class="v">
        <div class="place" />
      </div>
      <div class="d">{"\u00a0"}</div>
    </li>
  );
}

/** A metric of the span as a tile, with its course over the steps and the change from the previous span. */
interface SeriesTileProps {
  series: Series;
  /** Shown in place of the change line. */
  remark: Phrase | undefined;
  head: SpanHead;
  neighbours: readonly Neighbour[];
  meanings: Meanings;
  /** The span that is compared with, and its figure. */
  compared?: { name: string; value: number | null } | undefined;
}

export function SeriesTile({ series, remark, head, neighbours, meanings, compared }: SeriesTileProps) {
  const metric = meanings.metric(series.metric);
  const why = series.reason ? ` ${sentence(meanings.explain(series.reason))}` : "";
  return (
    <Tile
      label={metric.label}
      meaning={metric.meaning + why}
      figure={figure(series.value, metric.unit)}
      other={compared && figure(compared.value, metric.unit)}
      spark={!compared && <Spark runs={sparkRuns(series, head.number, neighbours)} colour={metric.colour} />}
      remark={
        compared
          ? against(series.value, compared, metric.unit)
          : changeLine(series, remark, head.number, neighbours, meanings)
      }
    />
  );
}

/** With more spans than this the line has one point per span: steps would be narrower than a pixel. */
const SPANS_BY_STEP = 3;

/** The steps of the span and of its neighbours, in time order; with many spans, one value per span. */
export function sparkRuns(series: Series, number: number, neighbours: readonly Neighbour[]): SparkRun[] {
  const others = neighbours.filter((other) => other.steps[series.metric]?.some((value) => value !== null));
  const ordered = [...others, null].sort((a, b) => (a?.number ?? number) - (b?.number ?? number));
  if (ordered.length <= SPANS_BY_STEP) {
    return ordered.map((other) => ({
      values: other ? (other.steps[series.metric] ?? []) : series.steps,
      firm: !other,
    }));
  }
  const values = ordered.map((other) => (other ? (other.values[series.metric] ?? null) : series.value));
  return [
    { values: values.slice(0, ordered.indexOf(null) + 1), firm: true },
    { values: values.slice(ordered.indexOf(null) + 1), firm: false },
  ];
}

function changeLine(
  series: Series,
  remark: Phrase | undefined,
  number: number,
  neighbours: readonly Neighbour[],
  meanings: Meanings,
) {
  if (series.value === null) return undefined;
  if (remark) return <Sentence phrase={remark} style="table" />;
  const unit = meanings.metric(series.metric).unit;
  const value = (other: Neighbour) => other.values[series.metric] ?? null;
  const before = nearest(neighbours, (other) => other.number < number && value(other) !== null, number);
  if (before) return `${change(value(before)!, series.value, unit)} since span ${before.number}`;
  return stepRange(series, unit);
}

/** "36.5 ms more", with the span that the bar names as the base. */
function against(value: number | null, { name, value: other }: { name: string; value: number | null }, unit: Unit) {
  if (value === null || other === null) return `not known in ${value === null ? "this span" : name}`;
  const moved = change(other, value, unit);
  if (moved === "unchanged") return `the same in ${name}`;
  return (
    <span {...hint(`${moved} against ${name}`)}>
      {moved} vs {name}
    </span>
  );
}

function nearest(
  neighbours: readonly Neighbour[],
  accepts: (other: Neighbour) => boolean,
  number: number,
): Neighbour | undefined {
  return neighbours.filter(accepts).sort((a, b) => Math.abs(a.number - number) - Math.abs(b.number - number))[0];
}

/** The range over the steps, for a span without neighbours to compare with. */
function stepRange({ steps }: Series, unit: Unit): string | undefined {
  const present = steps.filter((value) => value !== null);
  const low = Math.min(...present);
  const high = Math.max(...present);
  const scale = scaleFor(high, unit);
  return present.length > 1 && scale.number(low) !== scale.number(high)
    ? `${scale.number(low)} to ${scale.text(high)}`
    : undefined;
}
