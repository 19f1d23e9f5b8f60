/**
 * Where a card's evidence happens: the place is reserved in the card until it scrolls into view and its picture and
 * events are loaded.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Evidence, SpanHead } from "../api.gen";
import { bytes } from "../format";
import { touches } from "../time_range";
import { later } from "./lazy";
import type { Tab } from "./props";

const PART = later(async () => (await import("./timeline/place/picture")).PlacePicture);

/** Reading a larger file again for its events takes seconds, so it waits for the reader to ask for it. */
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
      () => want(false), // the part could not be loaded: the place stays empty
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
