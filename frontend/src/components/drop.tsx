import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useDismiss } from "./dismiss";

interface DropProps {
  /** On the button. */
  name: ComponentChildren;
  /** What the search looks for. */
  search: string;
  right?: boolean;
  /** The list for what was typed, in lower case. */
  children(typed: string, close: () => void): ComponentChildren;
}

/** A button that opens a list with a search. Arrow keys move in it, Esc closes it. */
export function Drop({ name, search, right = false, children }: DropProps) {
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const root = useRef<HTMLDivElement>(null);
  const close = () => {
    setOpen(false);
    setTyped("");
  };
  useDismiss(root, open, close);
  useEffect(() => {
    if (open) root.current?.querySelector("input")?.focus();
  }, [open]);
  return (
    <div class="drop" ref={root} onKeyDown={(event) => open && move(event, root.current)}>
      <button aria-haspopup="dialog" aria-expanded={open} onClick={() => (open ? close() : setOpen(true))}>
        {name}
      </button>
      {open && (
        <div class={right ? "pop right" : "pop"} role="dialog" aria-label={search}>
          <input
            class="field"
            type="search"
            placeholder={search}
            aria-label={search}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <div class="list">{children(typed.trim().toLowerCase(), close)}</div>
        </div>
      )}
    </div>
  );
}

function move(event: KeyboardEvent, root: HTMLElement | null): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !root) return;
  event.preventDefault();
  const all = [...root.querySelectorAll<HTMLElement>(".pop input, .list button")];
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[(at + step + all.length) % all.length]?.focus();
}
