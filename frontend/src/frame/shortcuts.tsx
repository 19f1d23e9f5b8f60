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
import { useLatest } from "../dom/hooks";
import { isPlain, isText } from "../dom/keys";
import { type Shortcut, TIMELINE_SHORTCUTS } from "../views/timeline/input/shortcuts";
import { Dialog } from "./dialog";

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

const SHEET: readonly { title: string; shortcuts: readonly Shortcut[] }[] = [
  {
    title: "Everywhere",
    shortcuts: [
      { keys: ["Ctrl + K"], what: "Go to anything: a run, snapshot, view, kernel, op, line, step or command" },
      { keys: ["1", "…", "9"], what: "Open a view, in the order of the list" },
      { keys: ["R", "T"], what: "Open Ranks, open Timeline" },
      { keys: ["/"], what: "Search in this view" },
      { keys: ["X"], what: "Tick the card in focus, or untick it" },
      { keys: ["[", "]"], what: "Previous and next step" },
      { keys: ["?"], what: "Show this sheet" },
      { keys: ["Tab", "Shift + Tab"], what: "Go to the next or previous control" },
      { keys: ["Enter", "Space"], what: "Press the button; fold and unfold" },
      { keys: ["Esc"], what: "Close what is open, or the hint" },
      { keys: ["Ctrl + P"], what: "Print this view on clean pages" },
    ],
  },
  {
    title: "Menus and lists",
    shortcuts: [
      { keys: ["↑", "↓"], what: "Go to the next entry" },
      { keys: ["Home", "End"], what: "Go to the first or last entry" },
      { keys: ["Enter"], what: "Choose the entry" },
    ],
  },
  {
    title: "Tables",
    shortcuts: [
      { keys: ["↑", "↓"], what: "Go from row to row" },
      { keys: ["Home", "End"], what: "Go to the first or last row" },
      { keys: ["→", "←"], what: "Go into the cells of a row, and from cell to cell" },
      { keys: ["Home", "End"], what: "In a row: go to its first or last cell" },
      { keys: ["Enter", "Space"], what: "Open what the row shows" },
    ],
  },
  {
    title: "Pictures",
    shortcuts: [
      { keys: ["←", "→"], what: "Go from step to step, or along time" },
      { keys: ["↑", "↓"], what: "Go from line to line, where there are several" },
      { keys: ["Home", "End"], what: "Go to the first or last step" },
      { keys: ["Enter", "Space"], what: "Keep the step in every picture of the view" },
      { keys: ["+", "-"], what: "Zoom into time, and show all again" },
      { keys: ["drag"], what: "Zoom to a range; a double click shows all again" },
      { keys: ["Enter", "Space"], what: "In a legend: hide this part, or show it again" },
      { keys: ["Alt + click", "double click"], what: "In a legend: show this part alone" },
      { keys: ["Esc"], what: "Choose nothing" },
    ],
  },
  {
    title: "Source text",
    shortcuts: [
      { keys: ["↑", "↓"], what: "Go to the line with figures above or below" },
      { keys: ["V"], what: "Open the line in VS Code, where links lead there" },
      { keys: ["D"], what: "Show or hide how each line changed against the compared run" },
    ],
  },
  { title: "Timeline", shortcuts: TIMELINE_SHORTCUTS },
];

export function ShortcutsButton() {
  const [open, setOpen] = useState(false);
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
      {open && <Sheet close={() => setOpen(false)} />}
    </>
  );
}

function Sheet({ close }: { close(): void }) {
  return (
    <Dialog class="shortcuts" labelledBy="shortcuts" close={close}>
      <div class="head">
        <h2 id="shortcuts">Keyboard shortcuts</h2>
        <button class="button low" onClick={close}>
          Close
        </button>
      </div>
      <div class="sheet-columns">
        {SHEET.map(({ title, shortcuts }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {shortcuts.map((shortcut) => (
                <Entry key={shortcut.what} {...shortcut} />
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

function Entry({ keys, what }: Shortcut) {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{what}</dd>
    </div>
  );
}
