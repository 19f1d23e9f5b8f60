import type { LoaderStep } from "../../api.gen";
import { LineChart } from "../../charts/lines/line_chart";
import type { ChartLine } from "../../charts/lines/line_layout";
import { LineSample, Swatch } from "../../colour";
import { tableData } from "../../components/data_table";
import { Keys, useHidden } from "../../components/keys";
import { Picture } from "../../components/picture";
import { rangeText, type Scale, scaleFor } from "../../format";
import { type LoaderPictureProps, WAITS } from "./step_table";

const TITLE = "How long is a step without the wait?";

const HEIGHT = 206;

/** Room at the ends of the axis, in steps. */
const PAD = 0.6;

/** Each step as it is and as it would be without its exposed wait, which is the distance between the two lines. */
export function StepLines({ result: { steps }, chosen, name }: LoaderPictureProps) {
  const [off, hide] = useHidden();
  const names = steps.map((step) => step.name);
  const scale = scaleFor(Math.max(...steps.map((step) => step.duration_ns)), "ns");
  const segment = { from: 0, to: names.length - 1, caption: "step", marks: names.map((text, at) => ({ at, text })) };
  const shorter = spoken(steps.map(without), scale);
  const measured = spoken(
    steps.map((step) => step.duration_ns),
    scale,
  );
  const lengths = `${shorter} without the exposed wait, ${measured} with it`;
  return (
    <Picture title={TITLE} name={`steps without waits ${name}`} table={() => tableData(WAITS, steps)}>
      <LineChart
        label={`${TITLE} Steps ${rangeText(names[0]!, names[names.length - 1]!)}: ${lengths}.`}
        height={HEIGHT}
        colour="ink"
        bandColour="data"
        named={false}
        segments={[segment]}
        stops={names.map((key, at) => ({ key, segment: 0, at }))}
        pad={PAD}
        lines={linesOf(steps, off)}
        scale={scale}
        {...chosen}
        tip={(at) => tipOf(steps[at]!, scale)}
      />
      <Keys label="Lines" keys={KEYS} off={off} choose={hide} />
    </Picture>
  );
}

const without = (step: LoaderStep): number => step.duration_ns - step.exposed_ns;

const KEYS = [
  { id: "step", label: "step time", mark: <LineSample focus /> },
  { id: "rest", label: "without the wait", mark: <LineSample focus={false} /> },
  { id: "wait", label: "exposed wait", mark: <Swatch colour="data" /> },
];

/** The exposed wait is the band below the step's time. */
function linesOf(steps: readonly LoaderStep[], off: ReadonlySet<string>): ChartLine[] {
  const lines: ChartLine[] = [
    {
      key: "rest",
      name: "without the wait",
      focus: false,
      points: steps.map((step, stop) => ({ stop, value: without(step) })),
    },
    {
      key: "step",
      name: "step time",
      focus: true,
      points: steps.map((step, stop) => ({
        stop,
        value: step.duration_ns,
        ...(off.has("wait") ? {} : { low: without(step), high: step.duration_ns }),
      })),
    },
  ];
  return lines.filter(({ key }) => !off.has(key));
}

function tipOf(step: LoaderStep, scale: Scale) {
  return {
    title: `Step ${step.name}, ${scale.text(step.duration_ns)}`,
    rows: [
      { mark: <Swatch colour="data" />, name: "Exposed wait", value: scale.text(step.exposed_ns) },
      { mark: <Swatch colour="data" hatched />, name: "Hidden wait", value: scale.text(step.hidden_ns) },
      { name: "Without the exposed wait", value: scale.text(without(step)) },
    ],
  };
}

function spoken(values: readonly number[], scale: Scale): string {
  return `${scale.number(Math.min(...values))} to ${scale.text(Math.max(...values))}`;
}
