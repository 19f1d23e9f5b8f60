import { act, fireEvent, render, screen } from "@testing-library/preact";
import { beforeEach, expect, test, vi } from "vitest";
import { Hints, placeBeside } from "../../src/components/hints";
import { type Column, Table } from "../../src/components/table";
import { hint } from "../../src/dom/hint";

const popover = () => {
  const box = document.querySelector<HTMLElement>(".hint")!;
  return box.hidden ? null : box.textContent;
};
const wait = (ms: number) =>
  act(async () => {
    await vi.advanceTimersByTimeAsync(ms);
  });
const over = (element: Element) => fireEvent.pointerOver(element, { pointerType: "mouse" });
const by = (element: Element) => element.getAttribute("aria-describedby");

function Page() {
  return (
    <>
      <Hints />
      <p {...hint("Time in which a kernel runs.")}>GPU works</p>
      <p {...hint(null)}>Nothing to say</p>
      <button data-hint="Key S">Closer</button>
      <table>
        <tbody>
          <tr>
            <td tabIndex={-1}>
              <span data-hint="No step took it.">–</span>
            </td>
            <td tabIndex={-1}>
              <span data-hint="whole">whole</span>
            </td>
          </tr>
        </tbody>
      </table>
    </>
  );
}

beforeEach(() => {
  vi.useFakeTimers();
  render(<Page />);
});
test("a hint opens when the pointer stays, lets the pointer in, and closes when it has left", async () => {
  over(screen.getByText("GPU works"));
  await wait(300);
  expect(popover()).toBeNull();
  await wait(100);
  expect(popover()).toBe("Time in which a kernel runs.");
  expect(by(screen.getByText("GPU works"))).toBe("hint");
  over(document.body);
  await wait(100);
  over(document.querySelector(".hint")!);
  await wait(500);
  expect(popover()).toBe("Time in which a kernel runs.");
  over(document.body);
  await wait(250);
  expect(popover()).toBeNull();
  expect(by(screen.getByText("GPU works"))).toBeNull();
});

test("a hint closes when the pointer leaves the frame", async () => {
  const label = screen.getByText("GPU works");
  over(label);
  await wait(400);
  expect(popover()).toBe("Time in which a kernel runs.");
  fireEvent.pointerOut(label, { pointerType: "mouse", relatedTarget: document.body });
  await wait(250);
  expect(popover()).toBe("Time in which a kernel runs.");
  fireEvent.pointerOut(label, { pointerType: "mouse", relatedTarget: null });
  await wait(250);
  expect(popover()).toBeNull();
});

test("the focus closes what the pointer opened, before it opens its own", async () => {
  over(screen.getByText("GPU works"));
  await wait(400);
  screen.getByText("Closer").focus();
  expect(popover()).toBeNull();
  await wait(200);
  expect(popover()).toBe("Key S");
});

test("a hint closes when what it explains leaves the page, though the pointer rests", async () => {
  const explained = screen.getByText("GPU works");
  over(explained);
  await wait(400);
  expect(popover()).toBe("Time in which a kernel runs.");
  screen.getByText("Nothing to say").remove();
  await wait(0);
  expect(popover()).not.toBeNull();
  explained.remove();
  await wait(0);
  expect(popover()).toBeNull();
});

test("a page that scrolls under a pointer at rest closes nothing", async () => {
  const place = { clientX: 40, clientY: 50, pointerType: "mouse" };
  fireEvent.pointerMove(document.body, place);
  screen.getByText("GPU works").focus();
  await wait(200);
  fireEvent.pointerOver(document.body, place);
  await wait(500);
  expect(popover()).toBe("Time in which a kernel runs.");
  fireEvent.pointerOver(document.body, { ...place, clientX: 41 });
  await wait(250);
  expect(popover()).toBeNull();
});

test("the focus opens it; Escape closes it and does nothing else", async () => {
  const other = vi.fn();
  document.body.addEventListener("keydown", other);
  const label = screen.getByText("GPU works");
  label.focus();
  expect(by(label)).toBe("hint");
  expect(document.querySelector(".hint")!.textContent).toBe("Time in which a kernel runs.");
  await wait(200);
  expect(popover()).toBe("Time in which a kernel runs.");
  fireEvent.keyDown(label, { key: "Escape" });
  expect(popover()).toBeNull();
  expect(other).not.toHaveBeenCalled();
  fireEvent.keyDown(label, { key: "Escape" });
  expect(other).toHaveBeenCalledOnce();
  document.body.removeEventListener("keydown", other);
});

test("the focus on a table's cell shows the hint within it; one that repeats what is seen stays away", async () => {
  const [dash, whole] = screen.getAllByRole("cell");
  dash!.focus();
  await wait(200);
  expect(popover()).toBe("No step took it.");
  expect(by(dash!)).toBe("hint");
  whole!.focus();
  await wait(500);
  expect(popover()).toBeNull();
});

test("a tap opens it at once, and a press elsewhere closes it", async () => {
  const button = screen.getByRole("button", { name: "Closer" });
  fireEvent(button, new PointerEvent("click", { bubbles: true, pointerType: "touch" }));
  expect(popover()).toBe("Key S");
  fireEvent.pointerDown(screen.getByText("Nothing to say"), { pointerType: "touch" });
  expect(popover()).toBeNull();
});

test("what has no hint is no stop of the Tab key", () => {
  expect(screen.getByText("GPU works").tabIndex).toBe(0);
  expect(screen.getByText("Nothing to say").hasAttribute("tabindex")).toBe(false);
});

test("a focus that comes back when something closes opens nothing", async () => {
  const button = screen.getByRole("button", { name: "Closer" });
  fireEvent.keyDown(document.body, { key: "Escape" });
  button.focus();
  await wait(500);
  expect(popover()).toBeNull();
  expect(by(button)).toBe("hint");
});

test("a dash in a table says why it is one", () => {
  const columns: readonly Column<number | null>[] = [
    { id: "waves", label: "Waves", figures: { of: (row) => row, unit: "number" }, missing: "Not recorded." },
  ];
  render(<Table label="t" columns={columns} rows={[2, null]} rowKey={String} />);
  const cells = screen.getByRole("grid", { name: "t" }).querySelectorAll("td");
  expect([...cells].map((cell) => cell.innerHTML)).toEqual(["2", '<span data-hint="Not recorded.">–</span>']);
});

test("a hint stands below what it explains, above it where there is more room, and within the frame", () => {
  const { innerWidth: wide, innerHeight: high } = window;
  const at = (left: number, top: number) => placeBeside({ left, top, bottom: top + 20 }, 300, 100);
  expect(at(50, 40)).toEqual({ x: 50, y: 66 });
  expect(at(50, high - 60)).toEqual({ x: 50, y: high - 166 });
  expect(at(wide - 20, 40)).toEqual({ x: wide - 308, y: 66 });
  expect(at(-40, 40).x).toBe(8);
  const tall = (top: number) => placeBeside({ left: 50, top, bottom: top + 20 }, 300, high).y;
  expect([tall(40), tall(high - 60)]).toEqual([66, -66]);
});
