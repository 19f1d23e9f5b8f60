/**
 * The meaning of an element, in a popover on hover, on focus and on a tap. `components/hints.tsx` shows it.
 *
 *   <button data-hint={text}>        a control, which the keyboard reaches anyway
 *   <td><span data-hint={text}>      in a table, whose cells the arrow keys reach
 *   <span {...hint(text)}>           anything else: the element becomes a stop of the Tab key
 */

interface HintAttributes {
  "data-hint"?: string;
  tabIndex?: 0;
}

/** Attributes for an element that the keyboard does not reach otherwise; none where there is no text. */
export const hint = (text: string | null | undefined): HintAttributes =>
  text ? { "data-hint": text, tabIndex: 0 } : {};

/** The element with the hint: the element itself or an ancestor; for a table cell, the first element inside it. */
export function hinted(target: EventTarget | null): Element | null {
  if (!(target instanceof Element)) return null;
  const inCell = target.matches("td, th") ? target.querySelector(HINTED) : null;
  return target.closest(HINTED) ?? inCell;
}

const HINTED = '[data-hint]:not([data-hint=""])';

export const hintOf = (element: Element): string => element.getAttribute("data-hint") ?? "";

/** Whether the element already shows, in full, exactly what its hint says. */
export function repeats(element: Element): boolean {
  if (element.textContent?.trim() !== hintOf(element).trim()) return false;
  const boxes = [element, ...element.querySelectorAll("*"), element.parentElement!];
  return boxes.every((box) => box.scrollWidth <= box.clientWidth || getComputedStyle(box).display === "inline");
}
