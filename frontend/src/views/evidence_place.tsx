/** Where a card's evidence happens: its place in the card is free until the picture and its events come into sight. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Evidence, SpanHead } from "../api.gen";
import { bytes } from "../format";
import { touches } from "../time_range";
import { later } from "./lazy";
import type { Tab } from "./props";

const PART = later(async () => (await import("./timeline/place/picture")).PlacePicture);

/** A larger file takes seconds to be read again for its events: that is for the reader to ask for. */
const AT_ONCE_BYTES = 32e6;

interface EvidencePlaceProps {
  head: SpanHead;
  place: Evidence;
  tab: Tab;
}

export function EvidencePlace({ head, place, tab }: EvidencePlaceProps) {
  const box = useRef<HTMLDivElement>(null);
  const [wanted, want] = useState(false);
  const [, drawAgain] = useState(0);
  const large = head.file_bytes > AT_ONCE_BYTES;
  const held = tab.events.held?.(head.id);
  const lacking = held === null || (held && !touches({ from: held.start_ns, to: held.end_ns }, rangeOf(place)));
  useEffect(() => {
    if (large || lacking || typeof IntersectionObserver === "undefined") return;
    const seen = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) want(true);
    });
    seen.observe(box.current!);
    return () => seen.disconnect();
  }, [large, lacking]);
  useEffect(() => {
    if (!wanted || PART.now()) return;
    PART.load().then(
      () => drawAgain((drawn) => drawn + 1),
      () => want(false), // the part did not come: the place stays free
    );
  }, [wanted]);
  if (lacking) return null;
  const Picture = PART.now();
  return (
    <div class="evidence-place" ref={box}>
      {wanted && Picture && <Picture span={head.id} place={place} tab={tab} />}
      {large && !wanted && (
        <button class="link" onClick={() => want(true)}>
          {`Show where it happens (reads ${bytes(head.file_bytes)} again)`}
        </button>
      )}
    </div>
  );
}

const rangeOf = ({ start_ns, end_ns }: Evidence) => ({ from: start_ns, to: end_ns });
