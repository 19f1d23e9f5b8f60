import type { HostResult, PartMeaning, Segment } from "../../api.gen";
import { type Brace, StepBar, type StepBarRow } from "../../charts/bars/step_bar";
import { Legend } from "../../components/legend";
import { ns, type Scale, scaleFor, share } from "../../format";
import { keysOfHidden } from "../choices";
import { BarName } from "../compare/bar_name";
import { pairsOf } from "../compare/difference";
import { PartDifferences } from "../compare/parts";
import type { HostPart } from "../props";

/** The mean step: what the GPU does on the left, what it waits for on the right. */
export function HostMeanStep({ result, tab, off, name, compared }: HostPart) {
  const { mean_step_ns: whole } = result;
  const segments = result.segments.filter((segment) => segment.ns > 0);
  const other = compared?.page.result;
  const longest = Math.max(whole, other?.mean_step_ns ?? 0);
  const scale = scaleFor(longest, "ns");
  const bar = (of: HostResult, label: string): StepBarRow => ({
    label: <BarName name={label} mean_ns={of.mean_step_ns} />,
    thin: false,
    parts: of.segments.filter((segment) => segment.ns > 0).map((segment) => drawn(segment, scale)),
  });
  return (
    <>
      <StepBar
        label={spokenOf(result, scale)}
        end={scale.of(longest)}
        endText={ns(longest)}
        braces={bracesOf(segments, gpuOf(result), whole, scale)}
        off={off}
        bars={[
          bar(result, compared?.own ?? "Mean step"),
          ...(other && other.segments.length > 0 ? [bar(other, compared!.name)] : []),
        ]}
      />
      <Legend
        label="Parts of the mean step. A button shows or hides its part."
        scale={scale}
        off={off}
        choose={(next) => tab.update(keysOfHidden(next))}
        parts={segments.map((segment) => ({
          meaning: meaningOf(segment, tab.meanings.idle_reasons),
          ns: segment.ns,
          share: whole ? segment.ns / whole : 0,
          absent: undefined,
        }))}
      />
      {compared && other && other.segments.length > 0 && (
        <PartDifferences
          name={compared.name}
          own={compared.own}
          parts={pairsOf(result.segments, other.segments)}
          own_ns={whole}
          other_ns={other.mean_step_ns}
          file={name}
          tab={tab}
        />
      )}
    </>
  );
}

const drawn = (segment: Segment, scale: Scale) => ({
  id: segment.id,
  colour: segment.colour,
  hatched: segment.hatched,
  value: scale.of(segment.ns),
  title: `${segment.label} ${scale.text(segment.ns)}`,
  text: segment.colour === "cpu" ? segment.label.split(", ")[1] : undefined,
});

/** A segment of idle time means what its reasons do. */
function meaningOf(
  { id, label, colour, hatched, works, reasons: of }: Segment,
  reasons: readonly PartMeaning[],
): PartMeaning {
  const meanings = reasons.filter((reason) => of.includes(reason.id)).map((reason) => reason.meaning);
  return { id, label, colour, hatched, works, meaning: meanings.join(" ") || `${label}.` };
}

function sumsOf(segments: readonly Segment[]): { works: number; waits: number } {
  const sum = (works: boolean) =>
    segments.reduce((total, segment) => total + (segment.works === works ? segment.ns : 0), 0);
  return { works: sum(true), waits: sum(false) };
}

/** The GPU that the step is given of, by its number where there are others. */
const gpuOf = ({ devices, device }: HostResult): string => (devices.length > 1 ? `GPU ${device}` : "GPU");

function bracesOf(segments: readonly Segment[], gpu: string, whole: number, scale: Scale): Brace[] {
  const { works, waits } = sumsOf(segments);
  const brace = (words: string, length: number): Brace => ({
    value: scale.of(length),
    label: (
      <>
        {words} <b>{scale.text(length)}</b>, {share(whole ? length / whole : null)}
      </>
    ),
  });
  return [brace(`${gpu} works`, works), brace(`${gpu} waits`, waits)];
}

function spokenOf(result: HostResult, scale: Scale): string {
  const { segments, mean_step_ns: whole } = result;
  const { works, waits } = sumsOf(segments);
  const causes = segments
    .filter((segment) => !segment.works && segment.ns > 0)
    .map((segment) => `${segment.label} ${scale.text(segment.ns)}`);
  return (
    `Mean step of ${ns(whole)}: ${result.devices.length > 1 ? gpuOf(result) : "the GPU"} works ` +
    `${ns(works)} and waits ${ns(waits)}${causes.length > 0 ? `: ${causes.join(", ")}` : ""}.`
  );
}
