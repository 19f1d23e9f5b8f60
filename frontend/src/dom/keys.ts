/** What a press of a key or of a link is meant for. */

type Modifiers = Pick<KeyboardEvent, "ctrlKey" | "metaKey" | "altKey">;

/** Acts on a click on a link, unless it opens the link elsewhere, as with any link. */
export const followed = (act: () => void) => (event: MouseEvent) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  act();
};

export const isPlain = ({ ctrlKey, metaKey, altKey }: Modifiers): boolean => !ctrlKey && !metaKey && !altKey;

/** Checks by tag name, not by class: an element of the outer page is an instance of that page's classes. */
export const isText = (target: EventTarget | null): boolean =>
  (target as Element | null)?.matches?.("input, textarea, select, [contenteditable]") ?? false;
