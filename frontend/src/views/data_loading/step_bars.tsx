import { StackedBars } from "../../charts/stacked_bars";
import { Picture } from "../../components/picture";
import { Swatch } from "../../components/swatch";
import { range, scaleFor } from "../../format";
import { type LoaderPictureProps, waitsTable } from "./step_table";

const TITLE = "How long is a step without the wait?";

const HEIGHT = 212;

/** Each step as what it is without the wait, and the exposed wait on top of it. */
export function StepBars({ result: { steps }, chosen, tab, name }: LoaderPictureProps) {
  const names = steps.map((step) => step.name);
  const longest = Math.max(...steps.map((step) => step.duration_ns));
  const scale = scaleFor(longest, "ns");
  const rest = steps.map((step) => step.duration_ns - step.exposed_ns);
  const place = (key: string | null) => (key !== null && names.includes(key) ? names.indexOf(key) : null);
  const keyAt = (at: number | null) => (at === null ? null : (names[at] ?? null));
  return (
    <Picture
      title={TITLE} sub={<><Swatch colour="other" /> the rest of the step <Swatch colour="data" /> exposed wait</>}
      name={`steps without waits ${name}`} table={() => waitsTable(steps)} link={() => tab.address()}
    >
      <StackedBars
        height={HEIGHT}
        label={`${TITLE} Steps ${range(names[0]!, names[names.length - 1]!)}: ${scale.number(Math.min(...rest))} to ${scale.text(Math.max(...rest))} without the exposed wait, up to ${scale.text(longest)} with it.`}
        names={names} unit={scale.unit} axis="step" heads={steps.map((step) => scale.number(step.duration_ns))} firm={names.map(() => false)}
        parts={[
          { id: "rest", colour: "other", hatched: false, values: rest.map(scale.of) },
          { id: "exposed", colour: "data", hatched: false, values: steps.map((step) => scale.of(step.exposed_ns)) },
        ]}
        lit={place(chosen.lit)} kept={place(chosen.kept)} light={(at) => chosen.light(keyAt(at))} keep={(at) => chosen.keep(keyAt(at) ?? chosen.kept)}
        tip={(at) => ({
          title: `Step ${names[at]}, ${scale.text(steps[at]!.duration_ns)}`,
          rows: [
            { mark: <Swatch colour="data" />, name: "Exposed wait", value: scale.text(steps[at]!.exposed_ns) },
            { mark: <Swatch colour="data" hatched />, name: "Hidden wait", value: scale.text(steps[at]!.hidden_ns) },
            { mark: <Swatch colour="other" />, name: "Step without the wait", value: scale.text(rest[at]!) },
          ],
        })}
      />
    </Picture>
  );
}
