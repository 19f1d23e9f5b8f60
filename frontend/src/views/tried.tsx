/** Which cards are ticked, and the step that a replay predicts for them. */

import type { CouldBe, PageOf, Phrase } from "../api.gen";
import type { Tick } from "../components/card";
import { Details, Sentence } from "../components/sentence";
import { counted, ns, scaleFor } from "../format";
import type { Tab } from "./props";

export interface Tries {
  ticked: number;
  /** The step that gains refer to, and the same with the ticked changes. */
  before: CouldBe;
  after: CouldBe;
  /** The tick box of a card; null: it cannot be ticked. */
  of(card: string): Tick | null;
  why_not: Phrase;
  none(): void;
}

/** Null where no card can be ticked. Cards in the address that no longer exist are ignored. */
export function triesOf(
  { tried }: Pick<PageOf<"overview">, "tried">,
  { state, update }: Pick<Tab, "state" | "update">,
): Tries | null {
  if (!tried || tried.ids.length === 0) return null;
  const { ids, steps, why_not } = tried;
  const chosen = state.try ?? new Set(tried.ticked);
  const ticked = ids.filter((id) => chosen.has(id));
  const stepWith = (cards: readonly string[]): CouldBe =>
    steps[ids.reduce((place, id, bit) => place + (cards.includes(id) ? 2 ** bit : 0), 0)]!;
  const tick = (cards: readonly string[]) => update({ try: new Set(cards) });
  const of = (card: string): Tick | null => {
    if (!ids.includes(card)) return null;
    const others = ticked.filter((id) => id !== card);
    return {
      ticked: ticked.includes(card),
      saves_ns: stepWith(others).duration_ns - stepWith([...others, card]).duration_ns,
      after_others: others.length > 0,
      toggle: () => tick(ticked.includes(card) ? others : [...ticked, card]),
    };
  };
  return { ticked: ticked.length, before: steps[0]!, after: stepWith(ticked), of, why_not, none: () => tick([]) };
}

/** "5.8", "2.1 ms": both figures in one unit. */
export function triedWords({ before, after }: Tries) {
  const scale = scaleFor(before.duration_ns, "ns");
  return {
    before: scale.number(before.duration_ns),
    after: scale.number(after.duration_ns) === "0" ? ns(after.duration_ns) : scale.text(after.duration_ns),
  };
}

/** The second line of the headline: "Use 11 workers: 5.8 to 2.1 ms (est.)", with the arrow drawn; null: none ticked. */
export function triedLine(page: PageOf<"overview">, tab: Tab) {
  const tries = triesOf(page, tab);
  if (!tries?.ticked) return null;
  const { before, after } = triedWords(tries);
  const only = tries.ticked === 1 && page.insights.find(({ id }) => tries.of(id)?.ticked);
  return (
    <p class="tried" role="status">
      {only ? <Sentence phrase={only.title} /> : `With the ${counted(tries.ticked, "change")} ticked`}: <b>{before}</b>
      <svg viewBox="0 0 18 11" role="img" aria-label="to">
        <path d="M0 5.5h16M12 1l4.5 4.5L12 10" />
      </svg>
      <b>{after}</b> (est.)
      <Details text={page.headline.basis} />
    </p>
  );
}
