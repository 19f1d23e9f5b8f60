/** What is not needed at first sight: a mark whose hint says it. On paper the text is printed in its place. */

import type { Phrase } from "../api.gen";
import { hint } from "../dom/hint";
import { sentence } from "../phrase";

export function Details({ text }: { text: Phrase | string | null | undefined | false }) {
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
