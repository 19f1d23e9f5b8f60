import { useEffect, useRef, useState } from "preact/hooks";
import { useDismiss } from "./dismiss";

export interface MenuEntry {
  label: string;
  choose(): void;
}

/** Three dots that open a list of deeds. Arrow keys move, Esc closes and gives the focus back. */
export function Menu({ label, entries }: { label: string; entries: readonly MenuEntry[] }) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useDismiss(root, open, () => setOpen(false));
  useEffect(() => {
    if (open) buttons(root.current)[1]?.focus();
  }, [open]);
  return (
    <div class="menu" ref={root} onKeyDown={(event) => open && move(event, root.current)}>
      <button aria-haspopup="menu" aria-expanded={open} aria-label={label} title={label} onClick={() => setOpen(!open)}>
        <svg viewBox="0 0 14 4" aria-hidden="true">
          {[2, 7, 12].map((x) => (
            <circle key={x} cx={x} cy="2" r="1.4" />
          ))}
        </svg>
      </button>
      {open && (
        <div class="pop" role="menu">
          {entries.map((entry) => (
            <button
              key={entry.label}
              role="menuitem"
              onClick={() => {
                setOpen(false);
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

const buttons = (root: HTMLElement | null): HTMLButtonElement[] => [...(root?.querySelectorAll("button") ?? [])];

function move(event: KeyboardEvent, root: HTMLElement | null): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const all = buttons(root).slice(1);
  const at = all.findIndex((button) => button === document.activeElement);
  all[(at + step + all.length) % all.length]?.focus();
}
