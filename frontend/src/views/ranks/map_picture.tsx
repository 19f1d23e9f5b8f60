/** Any metric by rank and step. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Metric, Phrase } from "../../api.gen";
import { usePalette } from "../../charts/canvas/palette";
import { colourOf } from "../../colour";
import { Chips } from "../../components/chips";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { NotYet } from "../../components/waiting";
import { hint } from "../../dom/hint";
import { count, counted, type Scale } from "../../format";
import { sentence } from "../../phrase";
import { scaleOf } from "../../scale";
import { MetricChips } from "../chips";
import { readingOf } from "../choices";
import type { Tab } from "../props";
import { type Cell, type Levels, levelsOf, meanOf, rampOf, rowsTogether, type Worst } from "./charts/cells";
import { mapHeight, RankMap } from "./charts/rank_map";
import { type MapAnswer, type MapRow, namesOf, type Order, orderOf, ordersOf, type UnpackedMap } from "./rows";

/** Metrics with a button of their own; all others are in the list. */
const QUICK = [
  "rank_caused_ns",
  "rank_wait_ns",
  "step_time",
  "data_loading_exposed",
  "gpu_utilization",
  "est_sm_efficiency",
];

interface MapPictureProps {
  title: Phrase | string;
  sub: string | undefined;
  rows: readonly MapRow[];
  metric: Metric;
  metrics: readonly Metric[];
  answer: MapAnswer;
  /** The chosen rank, given by its span. */
  chosen: string;
  /** Chooses a rank, and a step where one is given. */
  choose(row: MapRow, step: string | null): void;
  open(row: MapRow, step: string | null): void;
  name: string;
  tab: Tab;
}

export function MapPicture(props: MapPictureProps) {
  const { title, sub, rows, metric, metrics, answer, name, tab } = props;
  const orders = ordersOf(rows);
  const by = orders.find(({ id }) => id === tab.state.order_ranks)?.id ?? "rank";
  return (
    <Picture
      title={title}
      sub={sub}
      name={`${metric.id} by rank ${name}`}
      table={() => (answer.found ? tableOf(rows, answer.found, metric) : { columns: [], rows: [] })}
      link={() => tab.address({ metric: metric.id })}
    >
      <div class="rank-tools">
        <MetricChips metric={metric} metrics={metrics} quick={QUICK} choose={(id) => tab.update({ metric: id })} />
        {rows.length > 1 && (
          <Chips
            label="Order of the ranks"
            name="Sort by"
            chosen={by}
            options={orders}
            choose={(id) => tab.update({ order_ranks: id as Order })}
          />
        )}
      </div>
      {(answer.problem || !answer.found) && (
        <NotYet
          problem={answer.problem}
          reads={`Reading ${metric.label} of ${counted(rows.length, "rank")}.`}
          height_px={answer.found ? 0 : mapHeight(rows.length)}
        />
      )}
      {answer.found && <Grid {...props} by={by} found={answer.found} />}
    </Picture>
  );
}

function Grid(props: MapPictureProps & { by: Order; found: UnpackedMap }) {
  const { rows, by, found, chosen, choose, open, title, tab } = props;
  const shown = tab.meanings.metric(found.map.metric);
  const worst: Worst = tab.meanings.more_is_better.includes(shown.id) ? "least" : "most";
  const [only, setOnly] = useState<ReadonlySet<string> | null>(null);
  const ofSpan = useMemo(() => new Map(rows.map((row) => [row.span, row])), [rows]);
  const whole = useMemo(() => orderOf(rows, by, found, worst), [rows, by, found, worst]);
  const order = useMemo(
    () => (only === null ? whole : whole.filter((at) => only.has(found.map.spans[at]!))),
    [whole, only, found],
  );
  const unit = readingOf(tab).unit;
  const scale = useMemo(() => scaleOf(found.values, shown.unit, unit), [found, shown, unit]);
  const levels = useMemo(() => levelsOf(found, found.map.least_high), [found]);
  const draw = useMemo(
    () => ({
      nameOf: (places: readonly number[]) => namesOf(places.map((at) => ofSpan.get(found.map.spans[at]!)!)),
      figureOf: (places: readonly number[]) => scale.text(meanOf(found, places)),
    }),
    [found, ofSpan, scale],
  );
  if (found.map.reason !== null)
    return (
      <p class="unmeasured" style={{ height: "96px" }}>
        <Sentence phrase={tab.meanings.explain(found.map.reason)} />
      </p>
    );
  const rowAt = (at: number) => ofSpan.get(found.map.spans[at]!)!;
  const press = (cell: Cell, act: MapPictureProps["choose"]) => {
    if (cell.rows.length > 1) return setOnly(new Set(cell.rows.map((at) => found.map.spans[at]!)));
    act(rowAt(cell.rows[0]!), found.map.steps[cell.columns[0]] ?? null);
  };
  return (
    <>
      <RankMap
        label={
          `${sentence(title)} ${shown.label} of ` + `${count(order.length)} ranks at ${count(found.columns)} steps.`
        }
        matrix={found}
        order={order}
        steps={found.map.steps}
        colour={colourOf(shown.colour === "ink" ? "kernel" : shown.colour)}
        worst={worst}
        levels={levels}
        {...draw}
        tip={(cell) => tipOf(cell, { found, shown, scale, rowAt })}
        selected={{ row: found.map.spans.indexOf(chosen), column: found.map.steps.indexOf(tab.state.step ?? "") }}
        select={(cell) => press(cell, choose)}
        open={(cell) => press(cell, open)}
      />
      <MapLegend
        metric={shown}
        levels={levels}
        scale={scale}
        missing={found.values.some(Number.isNaN)}
        together={rowsTogether(order.length)}
        worst={worst}
      >
        {only !== null && (
          <button class="link" onClick={() => setOnly(null)}>
            Show all {count(whole.length)} ranks
          </button>
        )}
      </MapLegend>
    </>
  );
}

const NOT_RECORDED = "The rank did not record this step, or the figure is not known in it.";
const NOT_MATCHED =
  "Collectives of this step are not compared with those of other ranks: some rank did not record it, or it is the " +
  "first one, in which ranks wait for each other's profiler to start.";

interface Said {
  found: UnpackedMap;
  shown: Metric;
  scale: Scale;
  rowAt(at: number): MapRow;
}

function tipOf(cell: Cell, { found, shown, scale, rowAt }: Said) {
  const { rows, columns, least, middle, most, missing } = cell;
  const [first, last] = [found.map.steps[columns[0]]!, found.map.steps[columns[1] - 1]!];
  const title = `${namesOf(rows.map(rowAt))}, ${first === last ? `step ${first}` : `steps ${first}–${last}`}`;
  const several = rows.length > 1 || columns[1] - columns[0] > 1;
  if (most === null) return { title, rows: [{ name: shown.label, value: "not recorded" }] };
  if (!several) return { title, rows: [{ name: shown.label, value: scale.text(most) }] };
  return {
    title,
    rows: [
      { name: "Most", value: `${scale.text(most)}, ${rowAt(cell.mostRow).name}` },
      { name: "Median", value: scale.text(middle) },
      { name: "Least", value: `${scale.text(least)}, ${rowAt(cell.leastRow).name}` },
      ...(missing > 0 ? [{ name: "Not recorded", value: count(missing) }] : []),
    ],
    ...(rows.length > 1 && { act: "A press shows these ranks alone." }),
  };
}

interface MapLegendProps {
  metric: Metric;
  levels: Levels;
  scale: Scale;
  missing: boolean;
  /** The number of ranks per row of the picture. */
  together: number;
  worst: Worst;
  children: ComponentChildren;
}

/** What the colours mean, what hatching means, and what a row stands for where it is more than one rank. */
function MapLegend({ metric, levels, scale, missing, together, worst, children }: MapLegendProps) {
  const ramp = rampOf(usePalette(), colourOf(metric.colour === "ink" ? "kernel" : metric.colour));
  const [low, high] = [scale.text(levels.low), scale.text(levels.high)];
  return (
    <p class="rank-legend">
      <span role="img" aria-label={`Scale of ${metric.label}, from ${low} to ${high}`}>
        {levels.below ? `≤ ${low}` : low}
        <svg width={12 * ramp.length} height="10" aria-hidden="true">
          {ramp.map((fill, level) => (
            <rect key={fill} fill={fill} x={12 * level} width="12" height="10" />
          ))}
        </svg>
        {levels.above ? `≥ ${high}` : high}
      </span>
      {missing && (
        <span>
          <i class="swatch fill of-other hatch" />
          <span {...hint(metric.id.startsWith("rank_") ? NOT_MATCHED : NOT_RECORDED)}>
            {metric.id.startsWith("rank_") ? "not matched" : "not recorded"}
          </span>
        </span>
      )}
      {together > 1 && (
        <span>
          Each row is {count(together)} ranks and shows the {worst === "most" ? "highest" : "lowest"} of them; a press
          shows them one by one.
        </span>
      )}
      {children}
    </p>
  );
}

function tableOf(rows: readonly MapRow[], found: UnpackedMap, metric: Metric): TableData {
  const names = new Map(rows.map(({ span, name }) => [span, name]));
  return {
    columns: [{ label: "Rank" }, { label: "Step" }, { label: metric.label, unit: metric.unit }],
    rows: found.map.spans.flatMap((span, row) =>
      found.map.steps.map((step, column) => {
        const value = found.values[row * found.columns + column]!;
        return [names.get(span) ?? span, step, Number.isNaN(value) ? null : value];
      }),
    ),
  };
}
