/** The cards: what to do, the most important first, each with a link to its evidence. */

import { useEffect, useRef, useState } from "preact/hooks";
import { rangeInTimeline } from "../address/selection";
import type { Evidence, Insight, PageOf, SpanHead, ViewId } from "../api.gen";
import { Card, type CardProps } from "../components/card";
import { Sentence } from "../components/sentence";
import { useLater } from "../dom/hooks";
import { bytes } from "../format";
import { rangeOf, touches } from "../time_range";
import { capital } from "../words";
import { evidenceKeys, stepText } from "./choices";
import { laterView } from "./later_view";
import type { Tab } from "./props";
import type { Tries } from "./tried";

interface ToDoProps {
  page: Pick<PageOf<ViewId>, "insights" | "insights_remark"> & Partial<Pick<PageOf<ViewId>, "headline" | "head">>;
  /** The view that shows the cards: there is no link to it. */
  here: ViewId;
  tab: Tab;
  /** The state of the tick boxes, where cards can be ticked. */
  tries?: Tries | null;
  /** The cards of the job to which the span belongs: they come first. */
  of_job?: readonly Insight[];
}

export function ToDo(props: ToDoProps) {
  const {
    page: { head, headline, insights, insights_remark: remark },
    here,
    tab,
    tries = null,
    of_job = [],
  } = props;
  const ordered = [...of_job, ...insights];
  const [chosen, choose] = useState<string | null>(FIRST);
  const [all, showAll] = useState(ordered.length <= MOST + 1);
  const open = chosen === null || ordered.some(({ id }) => id === chosen) ? chosen : ordered[0]?.id;
  if (ordered.length === 0 && here !== "overview") return null;
  return (
    <section>
      <div class="head">
        <h2>What to do</h2>
        {remark && insights.length > 0 && of_job.length === 0 && !tries && (
          <span class="sub">
            <Sentence phrase={remark} />
          </span>
        )}
        {tries && tries.ticked > 0 && (
          <button class="link" onClick={tries.none}>
            Untick all
          </button>
        )}
      </div>
      {ordered.length === 0 && (
        <p class="quiet nothing">
          {remark ? (
            <Sentence phrase={remark} />
          ) : headline?.action && headline.view === null ? (
            TOO_LITTLE
          ) : (
            "No recommendation for this span."
          )}
        </p>
      )}
      {ordered.length > 0 && (
        <ol class={all ? "cards" : "cards few"} aria-label="Most important first">
          {ordered.map((insight) => (
            <Evident
              key={insight.id}
              {...{ insight, here, tab, tries }}
              head={of_job.includes(insight) ? undefined : head}
              fold={
                ordered.length > 1
                  ? { folded: insight.id !== open, toggle: () => choose(insight.id === open ? null : insight.id) }
                  : undefined
              }
            />
          ))}
        </ol>
      )}
      {!all && (
        <button class="link" onClick={() => showAll(true)}>
          Show all {ordered.length}
        </button>
      )}
    </section>
  );
}

/** The number of cards at first sight, in card.css too; a single further card is shown at once. */
const MOST = 4;

/** No card was opened yet: the first one is open. No card has this id; null: all are folded. */
const FIRST = "";

/** In this case the headline asks for another recording. */
const TOO_LITTLE = "This trace shows too little for a recommendation.";

const TIMELINE = "timeline";

/** The text of the link: the view, or where it is this one, the row. */
const leadsTo = ({ view }: Insight, here: ViewId, { meanings }: Tab): string =>
  view === here ? "Show its row" : `See ${meanings.viewTitle(view)}`;

interface EvidentProps {
  insight: Insight;
  /** The span to which the card belongs; undefined: it belongs to a job. */
  head: SpanHead | undefined;
  here: ViewId;
  tab: Tab;
  tries: Tries | null;
  fold: CardProps["fold"];
}

/**
 * A card with its links: to the view with the evidence, and to the timeline where the insight gives a time, which is
 * also drawn in the card.
 */
function Evident({ insight, head, here, tab, tries, fold }: EvidentProps) {
  const [first] = insight.evidence;
  const shown = (insight.view === here && insight.row === null) || (insight.view === TIMELINE && first !== undefined);
  return (
    <Card
      insight={insight}
      evidence={shown ? undefined : leadsTo(insight, here, tab)}
      open={() => tab.update(evidenceKeys(insight, tab.state))}
      timeline={
        first && {
          name: `${capital(stepText(first.step, head?.steps_by ?? "marks"))} in ${tab.meanings.viewTitle(TIMELINE)}`,
          open: () => tab.update(rangeInTimeline(first)),
        }
      }
      meaning={tab.meanings.card(insight.id)}
      fold={fold}
      tick={tries?.of(insight.id)}
      why_not={tries?.why_not}
      picture={head && first && <EvidencePlace key={head.id} head={head} place={first} tab={tab} />}
      openRange={(range) => tab.update(rangeInTimeline(range))}
    />
  );
}

const PART = laterView(async () => (await import("./timeline/place/picture")).PlacePicture);

/** Reading a larger file again for its events takes seconds, so it waits for the reader to ask for it. */
const AT_ONCE_BYTES = 32e6;

/**
 * Where a card's evidence happens: the place is reserved in the card until it scrolls into view and its picture and
 * events are loaded.
 */
function EvidencePlace({ head, place, tab }: { head: SpanHead; place: Evidence; tab: Tab }) {
  const box = useRef<HTMLDivElement>(null);
  const [wanted, want] = useState(false);
  const large = head.file_bytes > AT_ONCE_BYTES;
  const held = tab.source.held?.(head.id);
  const lacking = held === null || (held && !touches(rangeOf(held), rangeOf(place)));
  useEffect(() => {
    if (large || lacking || typeof IntersectionObserver === "undefined") return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) want(true);
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [large, lacking]);
  const Picture = useLater(PART, wanted, () => want(false)); // else the place stays empty
  if (lacking) return null;
  return (
    <div class="evidence-place" ref={box}>
      {Picture && <Picture span={head.id} place={place} tab={tab} />}
      {large && !wanted && (
        <button class="link" onClick={() => want(true)}>
          {`Show where it happens (reads ${bytes(head.file_bytes)} again)`}
        </button>
      )}
    </div>
  );
}
