import type { CardMeaning, Evidence, Insight } from "../api.gen";
import { fillClass } from "../colour";
import { hint } from "../dom/hint";
import { ns, share } from "../format";
import { sentence } from "../phrase";
import { Basis, SEVERITY } from "./basis";
import { Code } from "./copy";
import { Sentence } from "./sentence";

interface CardProps {
  insight: Insight;
  /** Title of the view with the evidence; undefined: it is this one. */
  evidence: string | undefined;
  open(): void;
  /** Opens the first of the insight's ranges of time; undefined where it names none. */
  timeline?: { name: string; open(): void } | undefined;
  meaning: CardMeaning | undefined;
  openRange(range: Evidence): void;
}

/** One thing to do: what it gains, why, and how. */
export function Card({ insight, evidence, open, timeline, meaning, openRange }: CardProps) {
  return (
    <li data-insight={insight.id}>
      <Gain insight={insight} />
      <div>
        <div class="top">
          <h3>
            <Sentence phrase={insight.title} />
          </h3>
          <span class="meta" {...hint(sentence(insight.why_confidence))}>
            <b>{SEVERITY[insight.severity]}</b>
            {insight.lowered_from && ` (lowered from ${SEVERITY[insight.lowered_from]})`}, confidence{" "}
            {insight.confidence}
          </span>
        </div>
        <p>
          <Sentence phrase={insight.why} terms />
          {evidence !== undefined && (
            <>
              {" "}
              <button class="link" onClick={open}>
                {evidence}
              </button>
            </>
          )}
          {timeline && (
            <>
              {" "}
              <button class="link" onClick={timeline.open}>
                {timeline.name}
              </button>
            </>
          )}
        </p>
        {insight.how !== null && <Code text={insight.how} />}
        <Basis insight={insight} meaning={meaning} openRange={openRange} />
      </div>
    </li>
  );
}

function Gain({ insight }: { insight: Insight }) {
  const { gain_ns: gain, gain_fraction: part, later_ns: later, instead } = insight;
  const now = gain > 0;
  if (!now && later === null)
    return (
      <div class="gain" {...hint(sentence(insight.gain_formula))}>
        {instead === null ? "no gain now" : sentence(instead)}
      </div>
    );
  return (
    <div class="gain" {...hint(sentence(insight.gain_formula))}>
      {now && "up to "}
      <b>{now ? ns(gain) : `${ns(0)} now`}</b>
      <span class="share-bar">
        {now && <i class={fillClass(insight.colour)} style={{ width: `${100 * Math.min(1, part)}%` }} />}
      </span>
      {now ? `${share(part)} of the step` : `up to ${ns(later!)} later`}
    </div>
  );
}
