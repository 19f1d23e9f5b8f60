import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CardMeaning, Evidence, Insight, Phrase } from "../api.gen";
import { fillClass } from "../colour";
import { hint } from "../dom/hint";
import { isPlain } from "../dom/keys";
import { ns, share } from "../format";
import { sentence } from "../phrase";
import { Code } from "./copy";
import { Sentence } from "./sentence";

/** The tick box of a card whose change can be tried on the step. */
export interface Tick {
  ticked: boolean;
  /** What the change saves of the step, after the other ticked cards. */
  saves_ns: number;
  after_others: boolean;
  toggle(): void;
}

export interface CardProps {
  insight: Insight;
  /** Title of the view with the evidence; undefined: the evidence is in this view. */
  evidence: string | undefined;
  open(): void;
  /** Opens the first of the insight's time ranges; undefined where it names none. */
  timeline?: { name: string; open(): void } | undefined;
  meaning: CardMeaning | undefined;
  openRange(range: Evidence): void;
  /** A picture of where it happens. */
  picture?: ComponentChildren;
  tick?: Tick | null | undefined;
  /** Why the card has no tick box, where others have one. */
  why_not?: Phrase | undefined;
  /** Opens or folds the card; undefined: it is the only one, and always open. */
  fold?: { folded: boolean; toggle(): void } | undefined;
}

/** One thing to do: what it gains, why, and how. Folded, it is one line: what it gains, and what to do. */
export function Card(props: CardProps) {
  const { insight, evidence, open, timeline, meaning, openRange, tick, why_not, picture, fold } = props;
  const folded = fold?.folded ?? false;
  const title = <Sentence phrase={insight.title} />;
  return (
    <li
      data-insight={insight.id}
      class={folded ? "folded" : ""}
      onKeyDown={(event) => event.key === "x" && isPlain(event) && tick?.toggle()}
    >
      {tick !== undefined && <div class="tick">{tick && <TickBox title={sentence(insight.title)} tick={tick} />}</div>}
      <Gain {...{ insight, tick, why_not }} />
      <div class="top">
        <h3>
          {fold ? (
            <button aria-expanded={!folded} onClick={fold.toggle}>
              {title}
            </button>
          ) : (
            title
          )}
        </h3>
        {folded && (
          <p class="brief" aria-hidden="true">
            <Sentence phrase={brief(insight.why)} />
          </p>
        )}
        <span class="meta" {...hint(sentence(insight.why_confidence))}>
          <b>{SEVERITY[insight.severity]}</b>, confidence {insight.confidence}
        </span>
      </div>
      <div class="content">
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
        {!folded && picture}
        {insight.how !== null && <Code text={insight.how} />}
        <Basis insight={insight} meaning={meaning} openRange={openRange} />
      </div>
    </li>
  );
}

/** The first statement of a reason: one line has no room for details, and a cut sentence says nothing at its end. */
const brief = ({ template, values }: Phrase): Phrase => ({
  template: /^(.{24,}?)(?:: |; |, mostly|\. |\.$)/.exec(template)?.[1] ?? template,
  values,
});

/** What the card gains, and what it adds to the ticked ones where it is none of them. */
function Gain({ insight, tick, why_not }: Pick<CardProps, "insight" | "tick" | "why_not">) {
  const { gain_ns: gain, gain_fraction: part, later_ns: later, instead } = insight;
  const now = gain > 0;
  const formula = sentence(insight.gain_formula) + (why_not && !tick ? ` ${sentence(why_not)}` : "");
  if (!now && later === null)
    return (
      <div class="gain" {...hint(sentence(insight.gain_formula))}>
        {instead === null ? "no gain now" : sentence(instead)}
      </div>
    );
  return (
    <div class={now ? "gain" : "gain later"} {...hint(formula)}>
      {!now && "then "}up to <b>{ns(now ? gain : later!)}</b>
      <span class="share-bar">
        {now && <i class={fillClass(insight.colour)} style={{ width: `${100 * Math.min(1, part)}%` }} />}
      </span>
      {now && <span class="of">{share(part)} of the step</span>}
      {tick && !tick.ticked && <span class="then">{thenText(tick)}</span>}
    </div>
  );
}

/** "then est. 0.3 ms": what the card would save of the step, after the ticked ones. */
const thenText = ({ saves_ns, after_others }: Tick) => `${after_others ? "then " : ""}est. ${ns(saves_ns)}`;

function TickBox({ title, tick: { ticked, toggle } }: { title: string; tick: Tick }) {
  return (
    <label data-hint={TICK_MEANING}>
      <input type="checkbox" checked={ticked} onChange={toggle} aria-label={`Try: ${title}`} />
    </label>
  );
}

const TICK_MEANING =
  "Ticked cards are replayed together. The figure is how much this one shortens the step after the others.";

interface BasisProps {
  insight: Insight;
  meaning: CardMeaning | undefined;
  openRange(range: Evidence): void;
}

const SEVERITY = { major: "Major", warning: "Warning", minor: "Minor" } as const;

/** What a card is based on, folded: formula, confidence, what else looks similar, and where to see it. */
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
        {meaning?.fires && <Answer label="Fires when" text={meaning.fires.replace(/^Fires when /, "")} />}
        {meaning &&
          Object.entries(meaning.answers).map(([label, text]) => label !== GAIN && <Answer {...{ label, text }} />)}
      </dl>
    </details>
  );
}

/** The formula above gives the gain with this trace's numbers: the rule's answer about any trace is left out. */
const GAIN = "Gain";

/** An answer of more characters than this takes more than three lines. */
const LONG = 400;

/** One of the rule's answers. Of a long one the first three lines are shown. */
function Answer({ label, text }: { label: string; text: string }) {
  const [whole, show] = useState(text.length <= LONG);
  return (
    <>
      <dt>{label}</dt>
      <dd>
        <span class={whole ? "" : "cut"}>
          {text.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}
        </span>
        {!whole && (
          <button class="link" onClick={() => show(true)}>
            Show all
          </button>
        )}
      </dd>
    </>
  );
}
