import { max } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import type { Burst, BurstStep, DataLoadingResult, Jitter } from "../../api.gen";
import { AxisLabels, thinned, ValueGrid, zeroAxis } from "../../charts/axes";
import { indexOf, nearest, type StopSelection } from "../../charts/pointer/pointing";
import { StopsPicture } from "../../charts/pointer/stops_picture";
import type { TipContent } from "../../charts/pointer/tip";
import { Swatch, svgPaint } from "../../colour";
import { Keys, type SeriesKey, useHidden } from "../../components/keys";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { sized } from "../../dom/size";
import { counted, ns, rangeText, type Scale, scaleFor, text } from "../../format";
import { closed, sentence } from "../../phrase";
import type { LoaderPictureProps } from "./waits";

const HEIGHT = 168;

/** Fewer waits than this show no pattern. */
const LEAST = 3;

export const showsBurst = ({ burst }: DataLoadingResult): boolean => burst !== null && burst.waits.length >= LEAST;

/** The wait for each batch in order: whether long waits recur, and how often. */
export function BurstPicture({ result, titles, burst, chosen, name }: LoaderPictureProps & { burst: Burst }) {
  const { waits, period } = burst;
  const [off, hide] = useHidden();
  const columns = waits.map((wait) => ({
    key: wait.step,
    exposed_ns: off.has(kindOf(wait)) ? 0 : wait.wait_ns - wait.hidden_ns,
    hidden_ns: off.has(HIDDEN.id) ? 0 : wait.hidden_ns,
    long: wait.long,
  }));
  const scale = scaleFor(Math.max(...columns.map(lengthOf)), "ns");
  const title = titles.burst ?? QUESTION;
  const keys = keysOf(waits);
  const jitter = result.causes?.jitter;
  return (
    <Picture
      title={title}
      details={[
        titles.burst_pace && sentence(titles.burst_pace),
        period !== null && patternOf(burst),
        period !== null && titles.burst_check && sentence(titles.burst_check),
      ]
        .filter(Boolean)
        .join(" ")}
      name={`waits by batch ${name}`}
      table={() => waitsTable(waits)}
    >
      <WaitColumns
        label={
          `${closed(sentence(title))} Waits of ${waits.length} ` +
          `batches of steps ${rangeText(waits[0]!.step, waits[waits.length - 1]!.step)}: ` +
          `${spoken(waits)}.`
        }
        columns={columns}
        scale={scale}
        periods={period === null || off.has("long") ? [] : periodsOf(waits, period)}
        periodText={period === null ? "" : counted(period, "batch", "batches")}
        {...chosen}
        tip={(at) => tipOf(waits[at]!, scale)}
      />
      {(keys.length > 1 || keys[0]?.id === HIDDEN.id) && (
        <Keys label="Kinds of waits" keys={keys} off={off} choose={hide} />
      )}
      {jitter && <Rare jitter={jitter} />}
    </Picture>
  );
}

const KEYS = [
  { id: "long", label: "long wait", mark: <Swatch colour="data" /> },
  {
    id: "usual",
    label: "usual wait",
    mark: (
      <span class="short">
        <Swatch colour="data" />
      </span>
    ),
  },
];

const HIDDEN = { id: "hidden", label: "hidden behind work", mark: <Swatch colour="data" hatched /> };

/** The marks that the picture has. A single kind of waits needs a key only to be distinguished from what is hidden. */
function keysOf(waits: readonly BurstStep[]): SeriesKey[] {
  const kinds = KEYS.filter(({ id }) => waits.some((wait) => kindOf(wait) === id));
  if (!waits.some((wait) => wait.hidden_ns > 0)) return kinds;
  const exposed = waits.some((wait) => wait.wait_ns > wait.hidden_ns);
  const alone = exposed ? kinds.map((key) => ({ ...key, label: "exposed" })) : [];
  return [...(kinds.length > 1 ? kinds : alone), HIDDEN];
}

const kindOf = ({ long }: BurstStep): string => (long ? "long" : "usual");

const QUESTION = "How long does each step wait?";

/** How certain the pattern is, in figures. */
function patternOf(props: Burst): string {
  const { period, autocorrelation, long_wait_ns: long, short_wait_ns: short, workers_from: from } = props;
  const lengths =
    long === null ? "is long" : `takes ${ns(long)}${short === null ? "" : `, the others ${ns(short)} at best`}`;
  const correlate =
    autocorrelation === null ? [] : [`Waits ${period} batches apart correlate by ${text(autocorrelation, "number")}.`];
  return [
    ...(long === null && correlate.length > 0 ? [] : [`One wait in ${period} ${lengths}.`]),
    ...correlate,
    ...(from !== null && from in FROM ? [`The number of workers is known from ${FROM[from]}.`] : []),
  ].join(" ");
}

const FROM: Readonly<Record<string, string>> = {
  recorder: "the recorder",
  stacks: "the call stacks",
  period: "the period",
};

/** Pairs of consecutive long waits that are exactly one period apart; other distances do not count. */
export function periodsOf(waits: readonly BurstStep[], period: number): [number, number][] {
  const long = waits.flatMap((wait, at) => (wait.long ? [at] : []));
  return long.slice(1).flatMap((to, at): [number, number][] => (to - long[at]! === period ? [[long[at]!, to]] : []));
}

function tipOf(wait: BurstStep, scale: Scale) {
  const rows = [{ name: wait.long ? "Long wait" : "Wait", value: scale.text(wait.wait_ns) }];
  return {
    title: `Step ${wait.step}`,
    rows: wait.hidden_ns > 0 ? [...rows, { name: "Hidden", value: scale.text(wait.hidden_ns) }] : rows,
  };
}

function spoken(waits: readonly BurstStep[]): string {
  const long = waits.filter((wait) => wait.long);
  return `${long.length} long ones, the longest ${ns(Math.max(...waits.map((wait) => wait.wait_ns)))}`;
}

/** Long waits without a period: a slow disk, a large sample, the garbage collector. */
function Rare({ jitter: { long_count, long_ns, typical_ns, exposed_ns, steps } }: { jitter: Jitter }) {
  return (
    <p class="quiet small aside">
      <Sentence
        phrase={{
          template:
            `{count} ${long_count === 1 ? "takes" : "take"} {long} instead of {typical}, without a ` +
            "period, in {steps}; the cost is [{cost}] a step.",
          values: {
            count: { value: counted(long_count, "wait"), unit: "text" },
            long: { value: long_ns, unit: "ns" },
            typical: { value: typical_ns, unit: "ns" },
            steps: { value: named(steps), unit: "text" },
            cost: { value: exposed_ns, unit: "ns" },
          },
        }}
      />
    </p>
  );
}

/** Nobody reads a list of more names than this. */
const NAMED = 5;

function named(steps: readonly string[]): string {
  const shown = steps.slice(0, NAMED).join(", ");
  const more = steps.length - NAMED;
  return `${steps.length === 1 ? "step" : "steps"} ${shown}${more > 0 ? ` and ${more} more` : ""}`;
}

function waitsTable(waits: readonly BurstStep[]) {
  return {
    columns: [
      { label: "Step" },
      { label: "Wait", unit: "ns" as const },
      { label: "Hidden", unit: "ns" as const },
      { label: "Long" },
    ],
    rows: waits.map((wait) => [wait.step, wait.wait_ns, wait.hidden_ns, wait.long ? "yes" : ""]),
  };
}

interface WaitColumn {
  /** The key of the step: columns of the same step are highlighted together. */
  key: string;
  exposed_ns: number;
  /** Drawn on top of the exposed part. */
  hidden_ns: number;
  long: boolean;
}

const lengthOf = ({ exposed_ns, hidden_ns }: WaitColumn): number => exposed_ns + hidden_ns;

interface ColumnsProps extends StopSelection {
  label: string;
  columns: readonly WaitColumn[];
  /** Pairs of long columns, by index, that a bracket joins. */
  periods: readonly (readonly [from: number, to: number])[];
  /** Written below the first bracket that has room. */
  periodText: string;
  scale: Scale;
  tip(column: number): TipContent;
}

const LEFT = 50;
/** Height for the brackets, where there are any. */
const BRACKETS = 16;
const TOP = 10;
const BELOW = 34;

/** Wider columns would look like areas. */
const WIDEST = 28;

/** Brackets narrower than this would be a line. */
const BRACKET_PX = 9;

/**
 * Waits in the order of the batches, one column each; brackets above join a long wait with the next, where long waits
 * recur.
 */
const WaitColumns = sized<ColumnsProps>(ColumnsPlot, HEIGHT);

/** The picture at a given width; pure, so that it can be drawn without a browser. */
export function ColumnsPlot(props: ColumnsProps & { width: number }) {
  const { columns, width, scale, hovered, selected } = props;
  const top = TOP + (props.periods.length > 0 ? BRACKETS : 0);
  const pace = (width - LEFT) / Math.max(1, columns.length);
  const xs = useMemo(() => columns.map((_, at) => LEFT + pace * (at + 0.5)), [columns, pace]);
  const [pointed, setPointed] = useState<number | null>(null); // a step hovered elsewhere has its tip there
  const hover = (at: number | null) => {
    setPointed(at);
    props.hover(at === null ? null : columns[at]!.key);
  };
  const select = (at: number | null) => props.select(at === null ? null : columns[at]!.key);
  const { periods, periodText } = props;
  const bars = useMemo(
    () => <Bars {...{ columns, periods, periodText, scale, width, xs, pace, top }} />,
    [columns, periods, periodText, scale, width, xs, pace, top],
  );
  const chosen = indexOf(columns, ({ key }) => key === (hovered ?? selected));
  const content = pointed === null || !columns[pointed] ? null : props.tip(pointed);
  return (
    <StopsPicture
      class="chart wait-columns of-data"
      label={props.label}
      {...{ width, hover, select }}
      height={HEIGHT}
      at={chosen}
      count={columns.length}
      content={chosen === null ? null : props.tip(chosen)}
      stopAt={(px) => (px < LEFT ? null : nearest(xs, px))}
      tip={{ content, x: (xs[pointed ?? 0] ?? 0) + pace / 2, y: top }}
    >
      {columns.map(
        (column, at) =>
          (column.key === hovered || column.key === selected) && (
            <rect
              key={at}
              class="choice"
              x={xs[at]! - pace / 2}
              y={top - 6}
              width={pace}
              height={HEIGHT - BELOW - top + 6}
            />
          ),
      )}
      {bars}
    </StopsPicture>
  );
}

type BarsProps = Pick<ColumnsProps, "columns" | "periods" | "periodText" | "scale"> & {
  width: number;
  xs: readonly number[];
  pace: number;
  top: number;
};

/** The part of the picture that the pointer does not change. */
function Bars({ columns, periods, periodText, scale, width, xs, pace, top }: BarsProps) {
  const foot = HEIGHT - BELOW;
  const { end, ticks } = zeroAxis(scale.of(max(columns, lengthOf) ?? 0), 3);
  const y = (ns: number) => foot - (scale.of(ns) / end) * (foot - top);
  const wide = Math.max(1, Math.min(WIDEST, pace > 3 ? pace - 1.5 : pace));
  const bars = (long: boolean) =>
    columns
      .map((column, at) => (column.long === long ? bar(xs[at]! - wide / 2, wide, y(column.exposed_ns), foot) : ""))
      .join("");
  const hidden = columns
    .map((column, at) => bar(xs[at]! - wide / 2, wide, y(lengthOf(column)), y(column.exposed_ns)))
    .join("");
  const drawn = periods.filter(([from, to]) => xs[to]! - xs[from]! >= BRACKET_PX);
  return (
    <g>
      <ValueGrid ticks={ticks} y={(tick) => y(tick / scale.of(1))} left={LEFT} right={width} unit={scale.unit} />
      <path class="mark" d={bars(true)} />
      <path class="mark short" d={bars(false)} />
      {hidden && <path {...svgPaint("data", true)} d={hidden} />}
      {drawn.map(([from, to]) => (
        <path key={from} class="tick" fill="none" d={`M${xs[from]! + 2} ${top - 4}v-4H${xs[to]! - 2}v4`} />
      ))}
      {drawn[0] && (
        <text class="second" x={xs[drawn[0][0]]!} y={top - 13}>
          {periodText}
        </text>
      )}
      <AxisLabels labels={thinned(columns.map(({ key }, at) => ({ x: xs[at]!, text: key })))} y={foot + 14} />
      <text class="mid" x={(LEFT + width) / 2} y={foot + 29}>
        step that takes the batch
      </text>
    </g>
  );
}

const bar = (left: number, width: number, top: number, foot: number): string =>
  foot - top < 0.3 ? "" : `M${left.toFixed(1)} ${foot.toFixed(1)}V${top.toFixed(1)}h${width.toFixed(1)}V${foot}z`;
