import type { HostResult, PartMeaning, Segment } from "../../api.gen";
import { Legend } from "../../components/legend";
import { ns, type Scale, scaleFor } from "../../format";
import { keysOfHidden } from "../choices";
import { pairsOf } from "../compare/difference";
import { PartDifferences } from "../compare/parts";
import { type MeanStep, MeanStepBar } from "../mean_step_bar";
import type { HostPart } from "../props";

/** The mean step: the GPU's work on the left, its waiting on the right. */
export function HostMeanStep({ result, tab, off, name, compared }: HostPart) {
  const { mean_step_ns: whole } = result;
  const segments = result.segments.filter((segment) => segment.ns > 0);
  const other = compared && compared.page.result.segments.length > 0 ? compared.page.result : null;
  const { works, waits } = sumsOf(segments);
  const gpu = gpuOf(result);
  return (
    <>
      <MeanStepBar
        label={(scale) => spokenOf(result, scale)}
        step={meanStep(result, compared?.own ?? "Mean step")}
        other={other && meanStep(other, compared!.name)}
        apart={compared?.unlike ?? false}
        braces={[
          { words: `${gpu} works`, ns: works },
          { words: `${gpu} waits`, ns: waits },
        ]}
        off={off}
      >
        <Legend
          label="Parts of the mean step. A button shows or hides its part."
          scale={scaleFor(Math.max(whole, other?.mean_step_ns ?? 0), "ns")}
          off={off}
          choose={(next) => tab.update(keysOfHidden(next))}
          parts={segments.map((segment) => ({
            meaning: meaningOf(segment, tab.meanings.idle_reasons),
            ns: segment.ns,
            share: whole ? segment.ns / whole : 0,
            absent: undefined,
          }))}
        />
      </MeanStepBar>
      {compared && other && (
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

const meanStep = ({ segments, mean_step_ns }: HostResult, name: string): MeanStep => ({
  name,
  ns: mean_step_ns,
  parts: segments
    .filter((segment) => segment.ns > 0)
    .map((segment) => ({ ...segment, text: segment.colour === "cpu" ? segment.label.split(", ")[1] : undefined })),
});

/** The meaning of an idle segment is that of its reasons. */
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

/** The GPU whose step is shown, with its number where there are others. */
const gpuOf = ({ devices, device }: HostResult): string => (devices.length > 1 ? `GPU ${device}` : "GPU");

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
