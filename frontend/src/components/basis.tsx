import type { CardMeaning, Evidence, Insight } from "../api.gen";
import { ns } from "../format";
import { Sentence } from "./sentence";

interface BasisProps {
  insight: Insight;
  meaning: CardMeaning | undefined;
  openRange(range: Evidence): void;
}

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
        <dt>Confidence</dt>
        <dd>
          {insight.confidence}. <Sentence phrase={insight.why_confidence} />
        </dd>
        {meaning && ANSWERS.map(([label, answer]) => answered(label, meaning[answer]))}
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

const ANSWERS = [
  ["Fires when", "fires"],
  ["Similar pattern", "similar_pattern"],
  ["Needs", "needs"],
  ["Left out", "left_out"],
] as const;

function answered(label: string, text: string) {
  if (text === "") return null;
  return (
    <>
      <dt>{label}</dt>
      <dd>
        {text
          .replace(/^Fires when /, "")
          .split("`")
          .map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}
      </dd>
    </>
  );
}
