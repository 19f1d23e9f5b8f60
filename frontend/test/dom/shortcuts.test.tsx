import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test } from "vitest";
import { ShortcutsButton } from "../../src/frame/shortcuts";
import { commandOf } from "../../src/views/timeline/input/commands";
import { TIMELINE_SHORTCUTS } from "../../src/views/timeline/input/shortcuts";

const sheet = () => screen.queryByRole("dialog", { name: "Keyboard shortcuts" });
const opened = () => screen.findByRole<HTMLDialogElement>("dialog", { name: "Keyboard shortcuts" });
const button = () => screen.getByRole("button", { name: "Keyboard shortcuts" });

test("the key opens the sheet, which names every shortcut, those of the timeline included", async () => {
  render(<ShortcutsButton />);
  expect(sheet()).toBeNull();
  fireEvent.keyDown(document.body, { key: "?" });
  const shown = await opened();
  const titles = [...shown.querySelectorAll("h3")].map((title) => title.textContent);
  expect(titles).toEqual(["Everywhere", "Menus and lists", "Tables", "Pictures", "Source text", "Timeline"]);
  const texts = [...shown.querySelectorAll("dd")].map((each) => each.textContent);
  expect(texts).toEqual(expect.arrayContaining(TIMELINE_SHORTCUTS.map(({ what }) => what)));
});

test("every key that the timeline knows is on its sheet", () => {
  const plain = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
  const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at)).filter(
    (key) => !/[A-Z]/.test(key),
  );
  const named = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Escape", "Home", "End", "Delete", "F3"];
  const labels: Readonly<Record<string, string>> = {
    ...{ ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", " ": "Space" },
    "=": "+", // the same key without Shift
  };
  const known = [...printable, ...named].filter((key) => commandOf({ key, ...plain }));
  expect(known.length).toBeGreaterThan(20);
  const shown = new Set(TIMELINE_SHORTCUTS.flatMap(({ keys }) => keys));
  expect(
    known
      .map((key) => labels[key] ?? key.toUpperCase().replace("ENTER", "Enter").replace("HOME", "Home"))
      .filter((key) => !shown.has(key)),
  ).toEqual([]);
});

test("a question mark in a field is text, and one with Ctrl is the browser's", () => {
  render(
    <>
      <ShortcutsButton />
      <input aria-label="Filter" />
    </>,
  );
  fireEvent.keyDown(screen.getByLabelText("Filter"), { key: "?" });
  fireEvent.keyDown(document.body, { key: "?", ctrlKey: true });
  expect(sheet()).toBeNull();
});

test("a modal dialog: opened as one, closed by its own close and by its button; the focus returns", async () => {
  render(<ShortcutsButton />);
  button().focus();
  fireEvent.click(button());
  expect((await opened()).open).toBe(true);
  const close = screen.getByRole("button", { name: "Close" });
  close.focus();
  fireEvent.click(close);
  expect(sheet()).toBeNull();
  expect(document.activeElement).toBe(button());
  fireEvent.click(button());
  (await opened()).close(); // this is what the browser does on Esc
  expect(sheet()).toBeNull();
});
