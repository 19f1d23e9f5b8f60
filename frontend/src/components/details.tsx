/** What is not needed at first sight: a mark whose hint says it. On paper the text is printed in its place. */

import type { Phrase } from "../api.gen";
import { hint } from "../dom/hint";
import { counted } from "../format";
import { sentence } from "../phrase";

export function Details({ text }: { text: Phrase | string | null | undefined }) {
  if (!text) return null;
  return (
    <span class="details">
      {"\u00a0"}
      <span role="note" aria-label="Details" {...hint(typeof text === "string" ? text : sentence(text))}>
        <svg viewBox="0 0 14 14" aria-hidden="true">
          <circle cx="7" cy="7" r="5.5" />
          <path d="M7 6.5v3.2M7 4.2v.9" />
        </svg>
      </span>
    </span>
  );
}

interface NoValuesProps {
  /** What has no value: "column". */
  what: string;
  labels: readonly string[];
  reasons: readonly string[];
}

/** What is not shown because it has no value: how many there are, and on demand which and why. */
export const NoValues = ({ what, labels, reasons }: NoValuesProps) => (
  <p class="quiet small aside">
    {counted(labels.length, what)} without values
    <Details text={`${labels.join(", ")}. ${[...new Set(reasons)].join(" ")}`} />
  </p>
);
