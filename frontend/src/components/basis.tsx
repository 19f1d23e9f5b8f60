import type { CardMeaning, Evidence, Insight } from "../api.gen";
import { ns } from "../format";
import { Sentence } from "./sentence";

interface BasisProps {
  insight: Insight;
  meaning: CardMeaning | undefined;
  openRange(range: Evidence): void;
}

export const SEVERITY = { major: "Major", warning: "Warning", minor: "Minor" } as const;

/** What a card rests on, folded: formula, confidence, what else looks like it, and where to see it. */
export function Basis({ insight, meaning, openRange }: BasisProps) {
  return (
    <details class="basis">
      <summary>Evidence and formula</summary>
      <dl>
        <dt>Gain</dt>
        <dd>
          <Sentence phrase={insight.gain_formula} />
        </dd>
        {insight.lowered_from && (
          <>
            <dt>Severity</dt>
            <dd>Lowered from {SEVERITY[insight.lowered_from]} because the confidence is low.</dd>
          </>
        )}
        <dt>Confidence</dt>
        <dd>
          {insight.confidence}. <Sentence phrase={insight.why_confidence} />
        </dd>
        {meaning?.fires && answered("Fires when", meaning.fires.replace(/^Fires when /, ""))}
        {meaning && Object.entries(meaning.answers).map(([question, answer]) => answered(question, answer))}
        {insight.evidence.length > 0 && (
          <>
            <dt>Longest</dt>
            <dd>
              {insight.evidence.map((range) => (
                <button key={range.start_ns} class="link" onClick={() => openRange(range)}>
                  {ns(range.end_ns - range.start_ns)} in step {range.step}
                </button>
              ))}
            </dd>
          </>
        )}
      </dl>
    </details>
  );
}

/** An answer of the rule. That on the gain in any trace is the formula above, which has this trace's numbers. */
function answered(label: string, text: string) {
  if (label === "Gain") return null;
  return (
    <>
      <dt>{label}</dt>
      <dd>{text.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</dd>
    </>
  );
}
