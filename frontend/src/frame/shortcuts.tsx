/**
 * Keys that work wherever the focus is, without a click into the page first; and the list of them, which a click on the
 * bar's "?", or the key, opens over the page.
 *
 * TensorBoard shows the tab in a frame, and after a click on TensorBoard's own bar the keys go to the page around the
 * frame, so both pages are listened to. Keys that a control, a table or a picture has handled are ignored, and so is
 * typing into a text field.
 */

import { useLayoutEffect, useState } from "preact/hooks";
import { isShown, outerPage } from "../address/url";
import { useLater, useLatest } from "../dom/hooks";
import { isPlain, isText } from "../dom/keys";
import { later } from "../lazy";

/** Returns whether the key was handled: then nothing else happens. */
type Pressed = (event: KeyboardEvent) => boolean;

export function usePageKeys(pressed: Pressed): void {
  const latest = useLatest(pressed);
  useLayoutEffect(() => {
    const outer = outerPage();
    const typed = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isShown(outer)) return;
      if (isText(event.target) && !event.ctrlKey && !event.metaKey) return;
      if (latest.current(event)) event.preventDefault();
    };
    const pages = new Set([document, outer.document]);
    for (const page of pages) page.addEventListener("keydown", typed);
    const left = () => outer.document.removeEventListener("keydown", typed);
    window.addEventListener("pagehide", left);
    return () => {
      for (const page of pages) page.removeEventListener("keydown", typed);
      window.removeEventListener("pagehide", left);
    };
  }, [latest]);
}

/**
 * Passes keys to a picture that handles the keys of its whole view, although the focus is elsewhere. Enter, Space and
 * arrows stay with the focused element.
 */
export function handOver(event: KeyboardEvent): boolean {
  const picture = document.querySelector<HTMLElement>("[data-takes-keys]");
  if (!picture || event.key.length !== 1 || event.key === " " || picture.contains(event.target as Node)) return false;
  const { key, shiftKey } = event;
  return !picture.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true }));
}

/** Focuses the search field of the page that is shown; false: it has none. */
export function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("main input[type=search], main input.field");
  field?.focus();
  field?.select();
  return field !== null;
}

export const SHEET = later(async () => (await import("./shortcut_sheet")).ShortcutSheet);

export function ShortcutsButton() {
  const [open, setOpen] = useState(false);
  const Sheet = useLater(SHEET, open, () => setOpen(false));
  usePageKeys((event) => {
    if (event.key !== "?" || !isPlain(event)) return false;
    setOpen(true);
    return true;
  });
  return (
    <>
      <button
        class="button low ask"
        aria-label="Keyboard shortcuts"
        aria-haspopup="dialog"
        data-hint="Keyboard shortcuts, key ?"
        onClick={() => setOpen(true)}
      >
        ?
      </button>
      {Sheet && <Sheet close={() => setOpen(false)} />}
    </>
  );
}
