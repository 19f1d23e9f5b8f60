import type { Burst, BurstStep, DataLoadingResult, Jitter } from "../../api.gen";
import { Swatch } from "../../colour";
import { Keys, useHidden } from "../../components/keys";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { counted, ns, rangeText, type Scale, scaleFor, text } from "../../format";
import { closed, sentence } from "../../phrase";
import { WaitColumns } from "./charts/wait_columns";
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
    ns: off.has(kindOf(wait)) ? 0 : wait.wait_ns,
    long: wait.long,
  }));
  const scale = scaleFor(Math.max(...columns.map((column) => column.ns)), "ns");
  const title = titles.burst ?? QUESTION;
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
          `${closed(typeof title === "string" ? title : sentence(title))} Waits of ${waits.length} ` +
          `batches of steps ${rangeText(waits[0]!.step, waits[waits.length - 1]!.step)}: ` +
          `${spoken(waits)}.`
        }
        height={HEIGHT}
        columns={columns}
        colour="data"
        axis="step that takes the batch"
        scale={scale}
        periods={period === null || off.has("long") ? [] : periodsOf(waits, period)}
        periodText={period === null ? "" : counted(period, "batch", "batches")}
        {...chosen}
        tip={(at) => tipOf(waits[at]!, scale)}
      />
      {waits.some((wait) => wait.long) && waits.some((wait) => !wait.long) && (
        <Keys label="Kinds of waits" keys={KEYS} off={off} choose={hide} />
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
  return {
    title: `Step ${wait.step}`,
    rows: [{ name: wait.long ? "Long wait" : "Wait", value: scale.text(wait.wait_ns) }],
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
    columns: [{ label: "Step" }, { label: "Wait", unit: "ns" as const }, { label: "Long" }],
    rows: waits.map((wait) => [wait.step, wait.wait_ns, wait.long ? "yes" : ""]),
  };
}
