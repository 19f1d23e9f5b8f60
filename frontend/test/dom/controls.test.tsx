import { fireEvent, render, screen, within } from "@testing-library/preact";
import { useState } from "preact/hooks";
import { describe, expect, test, vi } from "vitest";
import { Menu } from "../../src/components/popup";
import { type Column, Table } from "../../src/components/table";
import { Picker } from "../../src/frame/picker";
import { keys, openTab, press } from "./fake_server";

const focused = () => document.activeElement as HTMLElement;
const type = (key: string) => fireEvent.keyDown(focused(), { key });

describe("a picker", () => {
  const entries = Array.from({ length: 1000 }, (_, at) => ({ id: `run${at}`, label: `run ${at} of a`, aside: "1 ms" }));
  const draw = () => {
    const choose = vi.fn();
    render(<Picker label="Run" many="runs" entries={entries} chosen="run3" choose={choose} />);
    press(/Run/);
    return choose;
  };
  const active = () => screen.getAllByRole("option").find((option) => option.getAttribute("aria-selected") === "true");

  test("opens at what is chosen, with the focus in its search, and draws only what is visible", () => {
    draw();
    expect(focused().getAttribute("role")).toBe("combobox");
    expect(active()!.textContent).toContain("run 3 of a");
    expect(screen.getAllByRole("option").length).toBeLessThan(60);
  });

  test("arrow keys pass the names of groups, and the search finds the whole name", () => {
    const choose = vi.fn();
    const grouped = ["amp", "base"].map((label, at) => ({
      ...{ id: label, label, aside: "", full: `jobs/${label}_v100` },
      group: ["With a GPU", "CPU only"][at]!,
    }));
    render(<Picker label="Run" many="runs" entries={grouped} chosen="amp" choose={choose} />);
    press(/Run/);
    expect(screen.getByText("CPU only").getAttribute("role")).toBe("presentation");
    type("ArrowDown");
    expect(active()!.textContent).toBe("base");
    fireEvent.input(focused(), { target: { value: "v100 cpu" } });
    expect(screen.getAllByRole("option").map(({ textContent }) => textContent)).toEqual(["base"]);
    type("Enter");
    expect(choose).toHaveBeenCalledWith("base");
  });

  test("arrow keys move, Enter chooses and gives the focus back", () => {
    const choose = draw();
    type("ArrowDown");
    type("ArrowDown");
    type("ArrowUp");
    expect(active()!.textContent).toContain("run 4 of a");
    type("Enter");
    expect(choose).toHaveBeenCalledWith("run4");
    expect(screen.queryByRole("listbox")).toBeNull();
    expect(focused().textContent).toContain("Run");
  });

  test("a search finds words in any order; what matches nothing can be cleared", () => {
    const choose = draw();
    fireEvent.input(focused(), { target: { value: "A 777" } });
    expect(screen.getAllByRole("option")).toHaveLength(1);
    type("Enter");
    expect(choose).toHaveBeenCalledWith("run777");
    press(/Run/);
    fireEvent.input(focused(), { target: { value: "nothing" } });
    expect(screen.queryAllByRole("option")).toHaveLength(0);
    press("Clear");
    expect(screen.getAllByRole("option").length).toBeGreaterThan(10);
  });

  test("Escape and a press elsewhere close it", () => {
    draw();
    type("Escape");
    expect(screen.queryByRole("listbox")).toBeNull();
    press(/Run/);
    fireEvent.pointerDown(document.body);
    expect(screen.queryByRole("listbox")).toBeNull();
  });
});

describe("a table", () => {
  interface Row {
    name: string;
    ns: number | null;
  }
  const rows: Row[] = [
    { name: "b", ns: 2 },
    { name: "a", ns: null },
    { name: "c", ns: 10 },
  ];
  const columns: Column<Row>[] = [
    { id: "name", label: "Name", cell: (row) => row.name, order: (row) => row.name },
    { id: "ns", label: "Time", numeric: true, cell: (row) => row.ns ?? "–", order: (row) => row.ns },
    { id: "bar", label: "Bar", cell: () => null },
  ];
  function Sorted({ choose }: { choose?(row: Row): void }) {
    const [sort, setSort] = useState<string | undefined>();
    const shown = { label: "t", columns, rows, rowKey: (row: Row) => row.name, sort, onSort: setSort };
    return <Table {...shown} {...(choose && { onChoose: choose })} />;
  }
  const names = () =>
    screen
      .getAllByRole("row")
      .slice(1)
      .map((row) => row.firstElementChild!.textContent);

  test("sorts figures from the largest, names from a, missing last, and turns on a second press", () => {
    render(<Sorted />);
    expect(names()).toEqual(["b", "a", "c"]);
    press("Time");
    expect(names()).toEqual(["c", "b", "a"]);
    expect(screen.getByRole("columnheader", { name: "Time" }).getAttribute("aria-sort")).toBe("descending");
    press("Time");
    expect(names()).toEqual(["b", "c", "a"]);
    press("Name");
    expect(names()).toEqual(["a", "b", "c"]);
    expect(within(screen.getByRole("columnheader", { name: "Bar" })).queryByRole("button")).toBeNull();
  });

  test("keeps each row's element when the order turns: rows are found by key", () => {
    render(<Sorted />);
    const before = screen.getByText("c").closest("tr");
    press("Time");
    expect(screen.getByText("c").closest("tr")).toBe(before);
  });

  test("writes the cells of the rows that are visible, however many there are", () => {
    const written = vi.fn((row: { id: number }) => `row ${row.id}`);
    const many = Array.from({ length: 10_000 }, (_, id) => ({ id }));
    render(
      <Table
        label="many"
        columns={[{ id: "name", label: "Name", cell: written }]}
        rows={many}
        rowKey={({ id }) => id}
      />,
    );
    expect(screen.getByRole("grid").getAttribute("aria-rowcount")).toBe("10001");
    expect(written.mock.calls.length).toBeGreaterThan(10);
    expect(written.mock.calls.length).toBeLessThan(100);
  });

  test("Enter on a row chooses it", () => {
    const choose = vi.fn();
    render(<Sorted choose={choose} />);
    screen.getByText("a").closest("tr")!.focus();
    type("Enter");
    expect(choose).toHaveBeenCalledWith(rows[1]);
  });

  test("a filter is kept in the address, and what it hides stays in the sum below", async () => {
    await openTab("view=gpu");
    const field = await screen.findByRole("searchbox", { name: "Filter by kernel, op, module or line" });
    fireEvent.input(field, { target: { value: "softmax" } });
    expect(keys().kernel).toBe("softmax");
    const table = screen.getByRole("grid", { name: "Kernels by kernel" });
    expect(within(table).queryByText(/volta/)).toBeNull();
    expect(within(table).getByText(/6\smore kernels/)).toBeTruthy();
    fireEvent.input(field, { target: { value: "none of it" } });
    press("Clear");
    expect(keys().kernel).toBeUndefined();
  });
});

describe("a menu", () => {
  test("opens at its first entry, arrow keys go around, Escape gives the focus back", () => {
    const entries = ["Table", "CSV"].map((label) => ({ label, choose: vi.fn() }));
    render(<Menu label="More" entries={entries} />);
    press("More");
    expect(focused().textContent).toBe("Table");
    type("ArrowDown");
    expect(focused().textContent).toBe("CSV");
    type("ArrowDown");
    expect(focused().textContent).toBe("Table");
    type("Escape");
    expect(screen.queryByRole("menu")).toBeNull();
    expect(focused().getAttribute("aria-label")).toBe("More");
    press("More");
    press("CSV", "menuitem");
    expect(entries[1]!.choose).toHaveBeenCalledOnce();
  });

  test("a picture can be shown as a table and back", async () => {
    await openTab("view=overview");
    await screen.findByText("Kernel is steady");
    const picture = screen.getByText("Kernel is steady").closest("section")!;
    const menu = within(picture).getByRole("button", { name: /Show as table/ });
    fireEvent.click(menu);
    press("Show as table", "menuitem");
    expect(within(picture).getByRole("grid", { name: "Figures of this picture" })).toBeTruthy();
    fireEvent.click(menu);
    press("Show as picture", "menuitem");
    expect(within(picture).queryByRole("grid")).toBeNull();
  });
});
