/** How a picture whose stops arrow keys choose speaks: as a slider over them, whose value is what the tip says. */

import { sentenceOf, type TipContent } from "./tip";

const NONE = "Nothing chosen. Arrow keys choose.";

/**
 * at: which of `count` stops is chosen, from 0; null: none. content: what is there.
 *
 * A picture holds no elements for a screen reader to walk through, and `img` says that nothing can be done with it.
 */
export function slider(
  label: string,
  at: number | null,
  count: number,
  content: TipContent | null,
  orientation: "horizontal" | "vertical" = "horizontal",
) {
  return {
    role: "slider",
    tabindex: 0, // as written: attributes of an SVG have one spelling, and "tabIndex" is not it
    "aria-label": label,
    "aria-orientation": orientation,
    "aria-valuemin": 0,
    "aria-valuemax": Math.max(1, Math.round(count)),
    "aria-valuenow": at === null ? 0 : Math.round(at) + 1,
    "aria-valuetext": content === null ? NONE : sentenceOf(content),
  } as const;
}
