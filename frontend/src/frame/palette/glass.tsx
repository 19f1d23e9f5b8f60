/** What the palette and the field that opens it share. */

import type { Selection } from "../../address/selection";
import type { Source } from "../../server/use_answer";
import type { Tab } from "../../views/props";

export interface PaletteProps {
  tab: Tab;
  selection: Selection;
  source: Source;
}

export const Glass = () => (
  <svg class="glass" viewBox="0 0 12 12" aria-hidden="true">
    <circle cx="5" cy="5" r="3.5" />
    <path d="M7.8 7.8L11 11" />
  </svg>
);
