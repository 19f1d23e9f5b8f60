import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useFocusBack } from "../dom/hooks";

interface DialogProps {
  class: string;
  /** The id of the element inside that names it; without it, `label` does. */
  labelledBy?: string;
  label?: string;
  close(): void;
  onKeyDown?(event: KeyboardEvent): void;
  children: ComponentChildren;
}

/** A dialog over the page: the browser keeps the focus within it, and Esc or a click beside it closes it. */
export function Dialog({ class: className, labelledBy, label, close, onKeyDown, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useFocusBack(dialog);
  useEffect(() => {
    if (!dialog.current!.open) dialog.current!.showModal();
    dialog.current!.querySelector("input")?.focus();
  }, []);
  return (
    <dialog
      class={className}
      ref={dialog}
      aria-label={label}
      aria-labelledby={labelledBy}
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
      onKeyDown={onKeyDown}
    >
      {children}
    </dialog>
  );
}
