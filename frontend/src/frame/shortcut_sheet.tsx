/** The list of keys and gestures. */

import { type Shortcut, TIMELINE_SHORTCUTS } from "../views/timeline/input/shortcuts";
import { Dialog } from "./dialog";

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

export function ShortcutSheet({ close }: { close(): void }) {
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
