/**
 * The one popover that shows the text of `data-hint` (dom/hint.ts): meanings, reasons for a dash, full names.
 *
 * It opens after a short delay at the pointer or the focus, immediately on a tap. The pointer can enter it and its text
 * can be selected. Esc, a click elsewhere, or leaving closes it.
 */

import { useEffect, useRef } from "preact/hooks";
import { hinted, hintOf, repeats } from "../dom/hint";

const ID = "hint";

/**
 * ms. The focus is a deliberate choice; the pointer may only pass by. The delay on leaving is long enough to reach the
 * popover.
 */
const DELAY = { hover: 350, focus: 150, leave: 200 } as const;

export function Hints() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => attend(box.current!), []);
  return <div class="hint" id={ID} role="tooltip" ref={box} popover="manual" hidden />;
}

/** Listens to the whole page; returns a function that stops it. */
function attend(box: HTMLElement): () => void {
  const shown = popover(box);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const after = (ms: number, what: () => void) => {
    clearTimeout(timer);
    timer = setTimeout(what, ms);
  };
  const within = (target: EventTarget | null) => box.contains(target as Node | null);
  let at = ""; // position of the pointer
  const moved = ({ clientX, clientY }: PointerEvent) => {
    at = `${clientX} ${clientY}`;
  };
  const over = (event: PointerEvent) => {
    if (event.pointerType === "touch" || `${event.clientX} ${event.clientY}` === at) return; // the page moved under it
    const element = hinted(event.target);
    if (within(event.target) || (element && element === shown.element())) clearTimeout(timer);
    else if (element) after(shown.element() ? DELAY.leave : DELAY.hover, () => shown.open(element));
    else after(DELAY.leave, shown.close);
  };
  const out = ({ relatedTarget }: PointerEvent) => relatedTarget === null && after(DELAY.leave, shown.close);
  const pressed = (event: PointerEvent) => {
    if (within(event.target)) return;
    clearTimeout(timer);
    shown.close();
  };
  const tapped = (event: MouseEvent) => {
    const element = hinted(event.target);
    if ((event as PointerEvent).pointerType === "touch" && element && !element.matches(OPENS)) shown.open(element);
  };
  let key = ""; // the key that moved the focus
  const focused = ({ target }: FocusEvent) => {
    const element = (target as Element).matches(":focus-visible") ? hinted(target) : null;
    if (!element) return;
    if (shown.element() !== element) shown.close(); // its text would be that of the focus, at another place
    shown.describe(target as Element, hintOf(element));
    if (!ACTS.has(key)) after(DELAY.focus, () => shown.open(element));
  };
  const left = ({ relatedTarget }: FocusEvent) => !within(relatedTarget) && after(DELAY.leave, shown.close);
  const typed = (event: KeyboardEvent) => {
    key = event.key;
    if (event.key !== "Escape" || !shown.element()) return;
    event.stopImmediatePropagation();
    clearTimeout(timer);
    shown.close();
  };
  const stops = [
    listen("pointerover", over),
    listen("pointerout", out), // of the frame: nothing else tells it
    listen("pointermove", moved),
    listen("pointerdown", pressed),
    listen("click", tapped),
    listen("focusin", focused),
    listen("focusout", left),
    listen("keydown", typed),
  ];
  return () => {
    clearTimeout(timer);
    shown.close();
    for (const stop of stops) stop();
  };
}

/** Keys that close or trigger something: where the focus returns after one of them, the hint stays closed. */
const ACTS: ReadonlySet<string> = new Set(["Escape", "Enter", " "]);

/** A tap on these elements already opens something else. */
const OPENS = "[aria-haspopup], [role=option]";

/** Listens before the page's own listeners, so that Esc closes the topmost thing. */
function listen<Name extends keyof DocumentEventMap>(name: Name, act: (event: DocumentEventMap[Name]) => void) {
  document.addEventListener(name, act, true);
  return () => document.removeEventListener(name, act, true);
}

/** The popover, open at one element or closed. */
function popover(box: HTMLElement) {
  let element: Element | null = null;
  let described: Element | null = null;
  let leave = () => {};
  const describe = (target: Element | null, text = "") => {
    described?.removeAttribute(DESCRIBED_BY);
    if (target) box.textContent = text;
    target?.setAttribute(DESCRIBED_BY, ID);
    described = target;
  };
  const close = () => {
    leave();
    leave = () => {};
    element = null;
    box.hidden = true;
    if (box.matches(OPEN)) box.hidePopover();
    if (!described?.contains(document.activeElement)) describe(null);
  };
  const open = (next: Element) => {
    close();
    if (!next.isConnected || repeats(next)) return;
    if (!described || hinted(described) !== next) describe(next, hintOf(next));
    element = next;
    box.hidden = false;
    box.showPopover?.();
    leave = place(box, next, close);
  };
  return { open, close, describe, element: () => element };
}

const DESCRIBED_BY = "aria-describedby";
const OPEN = ":popover-open";

/** Distance between a popover and the element that it explains, and between it and the edge of the frame, px. */
const APART = 6;
const FROM_EDGE = 8;

/**
 * Keeps the box next to the element while the page scrolls. Calls `lost` when the element has left the page or the
 * view.
 */
function place(box: HTMLElement, element: Element, lost: () => void): () => void {
  const update = () => {
    if (!element.isConnected || outside(element)) return lost();
    const { x, y } = placeBeside(element.getBoundingClientRect(), box.offsetWidth, box.offsetHeight);
    box.style.left = `${x}px`;
    box.style.top = `${y}px`;
  };
  update();
  const gone = new MutationObserver(() => element.isConnected || lost());
  gone.observe(document.body, { childList: true, subtree: true });
  const moves = ["scroll", "resize"] as const;
  for (const name of moves) window.addEventListener(name, update, true);
  return () => {
    gone.disconnect();
    for (const name of moves) window.removeEventListener(name, update, true);
  };
}

/** Below the element, or above it where that leaves more of the box in the frame; moved sideways into the frame. */
export function placeBeside(
  { left, top, bottom }: Pick<DOMRect, "left" | "top" | "bottom">,
  width: number,
  height: number,
) {
  const [below, above] = [bottom + APART, top - APART - height];
  const cutBelow = below + height - (window.innerHeight - FROM_EDGE);
  const cutAbove = FROM_EDGE - above;
  return {
    x: Math.max(FROM_EDGE, Math.min(left, window.innerWidth - FROM_EDGE - width)),
    y: cutBelow <= Math.max(0, cutAbove) ? below : above,
  };
}

/** Returns whether the element is scrolled out of the frame. */
function outside(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom < 0 || top > window.innerHeight;
}
