import { fireEvent, render, screen } from "@testing-library/preact";
import { useRef, useState } from "preact/hooks";
import { expect, test } from "vitest";
import { Dropdown, Menu } from "../../src/components/popup";
import { type Column, Table } from "../../src/components/table";
import { useFocusBack } from "../../src/dom/hooks";
import { openTab } from "./fake_server";

const focused = () => document.activeElement!.textContent;
const type = (key: string) => fireEvent.keyDown(document.activeElement!, { key });

function Opened({ close }: { close(): void }) {
  const root = useRef<HTMLDivElement>(null);
  useFocusBack(root);
  return (
    <div ref={root}>
      <button onClick={close}>Close</button>
    </div>
  );
}

function Opener() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button onClick={() => setOpen(true)}>Open</button>
      <button>Other</button>
      {open && <Opened close={() => setOpen(false)} />}
    </>
  );
}

test("the focus goes back to the opener when what it opened closes, unless it has gone elsewhere", () => {
  render(<Opener />);
  const opener = screen.getByText("Open");
  opener.focus();
  fireEvent.click(opener);
  screen.getByText("Close").focus();
  fireEvent.click(screen.getByText("Close"));
  expect(focused()).toBe("Open");
  fireEvent.click(opener);
  screen.getByText("Other").focus();
  fireEvent.click(screen.getByText("Close"));
  expect(focused()).toBe("Other");
});

test("a menu is walked by arrow keys, Home and End, and gives the focus back after a choice", () => {
  const chosen: string[] = [];
  const entries = ["Table", "CSV", "PNG"].map((label) => ({ label, choose: () => chosen.push(label) }));
  render(<Menu label="More" entries={entries} />);
  const button = screen.getByRole("button", { name: "More" });
  fireEvent.click(button);
  expect(focused()).toBe("Table");
  type("End");
  expect(focused()).toBe("PNG");
  type("ArrowDown");
  expect(focused()).toBe("Table");
  type("ArrowUp");
  type("Home");
  type("ArrowDown");
  fireEvent.click(document.activeElement!);
  expect(chosen).toEqual(["CSV"]);
  expect(document.activeElement).toBe(button);
});

test("a list with a search gives the focus back after a choice", () => {
  render(
    <Dropdown name="All 47…" search="Find a metric">
      {(_, close) => <button onClick={close}>Step time</button>}
    </Dropdown>,
  );
  const button = screen.getByRole("button", { name: "All 47…" });
  fireEvent.click(button);
  expect(document.activeElement).toBe(screen.getByRole("searchbox"));
  type("ArrowDown");
  expect(focused()).toBe("Step time");
  fireEvent.click(document.activeElement!);
  expect(document.activeElement).toBe(button);
});

test("the first stop of the tab leads past bar and views to the content", async () => {
  await openTab();
  await screen.findByRole("heading", { level: 1 });
  const skip = screen.getByRole("link", { name: "Skip to the content" });
  expect(document.querySelector("a, button")).toBe(skip);
  fireEvent.click(skip);
  expect(document.activeElement).toBe(screen.getByRole("main"));
});

test("rows that fold are told apart by their level, and say whether they are open", () => {
  const columns: readonly Column<number>[] = [{ id: "name", label: "Range", cell: (row) => `range ${row}` }];
  const folded = { label: "Ranges", columns, rows: [1, 2], rowKey: (row: number) => row, sort: undefined };
  render(
    <Table {...folded} onSort={undefined} branch={(row) => ({ level: row, open: row === 1 ? true : undefined })} />,
  );
  expect(screen.getByRole("treegrid", { name: "Ranges" })).toBeTruthy();
  const [first, second] = [...document.querySelectorAll("tbody tr")];
  expect([first!.getAttribute("aria-level"), first!.getAttribute("aria-expanded")]).toEqual(["1", "true"]);
  expect([second!.getAttribute("aria-level"), second!.getAttribute("aria-expanded")]).toEqual(["2", null]);
});
