import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/** Closes what is open on a press elsewhere or on Esc; Esc gives the focus back to the button that opened it. */
export function useDismiss(root: RefObject<HTMLElement | null>, open: boolean, close: () => void): void {
  useEffect(() => {
    if (!open) return;
    const pressed = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) close();
    };
    const typed = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close();
      root.current?.querySelector("button")?.focus();
    };
    document.addEventListener("pointerdown", pressed);
    document.addEventListener("keydown", typed, true);
    window.addEventListener("blur", close);
    return () => {
      document.removeEventListener("pointerdown", pressed);
      document.removeEventListener("keydown", typed, true);
      window.removeEventListener("blur", close);
    };
  }, [open]);
}
