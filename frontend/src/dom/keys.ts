/** What a press of a key is meant for. */

type Modifiers = Pick<KeyboardEvent, "ctrlKey" | "metaKey" | "altKey">;

/** Whether a key was pressed without modifiers. */
export const isPlain = ({ ctrlKey, metaKey, altKey }: Modifiers): boolean => !ctrlKey && !metaKey && !altKey;

/** Checks by tag name, not by class: an element of the outer page is an instance of that page's classes. */
export const isText = (target: EventTarget | null): boolean =>
  (target as Element | null)?.matches?.("input, textarea, select, [contenteditable]") ?? false;
