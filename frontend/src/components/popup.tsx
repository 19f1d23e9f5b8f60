/** Popups over the page: a menu of actions, a list with a search. A click elsewhere or Esc closes them. */

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { SearchField } from "./filter";

const CHEVRONS = { down: "M1 2.5l3 3 3-3", left: "M5.5 1l-3 3 3 3", right: "M2.5 1l3 3-3 3" };

/** The sign of what opens or leads to the next one; null keeps its place empty. */
export const Chevron = ({ to }: { to: keyof typeof CHEVRONS | null }) => (
  <svg class="chevron" viewBox="0 0 8 8" aria-hidden="true">
    {to && <path d={CHEVRONS[to]} />}
  </svg>
);

/** Distance between a popup and the edge of the frame, px. */
const EDGE = 4;

/**
 * A popup below a button, both in `root`. A click elsewhere or Esc closes it; Esc returns the focus to the button, as
 * `closeBack` does. A popup that would extend beyond the frame is moved sideways by as much.
 */
export function usePopup() {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const closeBack = useCallback(() => {
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  }, []);
  useEffect(() => {
    if (!open) return;
    const pressed = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    const typed = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      closeBack();
    };
    const left = () => setOpen(false);
    document.addEventListener("pointerdown", pressed);
    document.addEventListener("keydown", typed, true);
    window.addEventListener("blur", left);
    return () => {
      document.removeEventListener("pointerdown", pressed);
      document.removeEventListener("keydown", typed, true);
      window.removeEventListener("blur", left);
    };
  }, [open, closeBack]);
  useLayoutEffect(() => {
    const pop = open ? root.current?.querySelector<HTMLElement>(".pop") : null;
    if (!pop) return;
    const { left, right } = pop.getBoundingClientRect();
    const over = Math.max(0, right + EDGE - document.documentElement.clientWidth);
    pop.style.translate = `${Math.floor(Math.max(EDGE - left, -over))}px`; // whole pixels, never one too few
    if (left >= EDGE && over === 0) pop.style.translate = "";
  }, [open]);
  return { open, root, toggle: () => setOpen(!open), closeBack };
}

const MENU_ENTRIES = "[role=menuitem]";
const LIST_ENTRIES = ".pop input, .list button";

export interface MenuEntry {
  label: string;
  /** What the action does, where its label cannot say everything. */
  hint?: string;
  choose(): void;
}

interface MenuProps {
  label: string;
  entries: readonly MenuEntry[];
  /** The text of the button, in place of the dots; an action may report its result in it. */
  children?: ComponentChildren;
}

/**
 * A button with three dots, or text, that opens a list of actions. Arrow keys move, Esc closes and returns the focus.
 */
export function Menu({ label, entries, children }: MenuProps) {
  const { open, root, toggle, closeBack } = usePopup();
  useEffect(() => {
    if (open) root.current?.querySelector<HTMLElement>(MENU_ENTRIES)?.focus();
  }, [open, root]);
  return (
    <div
      class={children ? "menu named" : "menu"}
      ref={root}
      onKeyDown={(event) => open && moveFocus(event, root.current, MENU_ENTRIES)}
    >
      <button
        aria-haspopup="menu"
        aria-expanded={open}
        class={children ? "button says" : undefined}
        aria-label={children ? undefined : label}
        data-hint={label}
        onClick={toggle}
      >
        {children ?? <Dots />}
      </button>
      {open && (
        <div class="pop" role="menu">
          {entries.map((entry) => (
            <button
              key={entry.label}
              role="menuitem"
              tabIndex={-1}
              data-hint={entry.hint}
              onClick={() => {
                closeBack();
                entry.choose();
              }}
            >
              {entry.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

const Dots = () => (
  <svg viewBox="0 0 14 4" aria-hidden="true">
    {[2, 7, 12].map((x) => (
      <circle key={x} cx={x} cy="2" r="1.4" />
    ))}
  </svg>
);

/** Up and down arrows cycle through the entries that match the selector; Home and End go to the ends. */
function moveFocus(event: KeyboardEvent, root: HTMLElement | null, entries: string): void {
  const all = [...(root?.querySelectorAll<HTMLElement>(entries) ?? [])];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const inText = document.activeElement instanceof HTMLInputElement; // there, Home and End belong to the text
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, ...(!inText && { Home: 0, End: all.length - 1 }) }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  all[(next + all.length) % all.length]?.focus();
}

interface DropdownProps {
  name: ComponentChildren;
  /** What the search finds, as the label of its field. */
  search: string;
  right?: boolean;
  /** Returns the list for the typed text, which is in lower case. */
  children(typed: string, close: () => void): ComponentChildren;
}

/** A button that opens a list with a search. Arrow keys move in it, Esc closes it. */
export function Dropdown({ name, search, right = false, children }: DropdownProps) {
  const { open, root, toggle, closeBack } = usePopup();
  const [typed, setTyped] = useState("");
  useEffect(() => {
    if (open) root.current?.querySelector("input")?.focus();
    else setTyped("");
  }, [open, root]);
  return (
    <div class="drop" ref={root} onKeyDown={(event) => open && moveFocus(event, root.current, LIST_ENTRIES)}>
      <button aria-haspopup="dialog" aria-expanded={open} onClick={toggle}>
        {name}
      </button>
      {open && (
        <div class={right ? "pop right" : "pop"} role="dialog" aria-label={search}>
          <SearchField class="field" label={search} placeholder={search} typed={typed} change={setTyped} />
          <div class="list">{children(typed.trim().toLowerCase(), closeBack)}</div>
        </div>
      )}
    </div>
  );
}
