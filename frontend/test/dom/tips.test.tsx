import { fireEvent, render, screen } from "@testing-library/preact";
import { useState } from "preact/hooks";
import { expect, test } from "vitest";
import { StackedBars } from "../../src/charts/bars/stacked_bars";
import { LineChart } from "../../src/charts/lines/line_chart";
import { scaleFor } from "../../src/format";
import { keys, openTab } from "./fake_server";

const NAMES = ["5", "6", "7"];
const tip = (at: number) => ({ title: `Step ${NAMES[at]}`, rows: [{ name: "Kernel", value: `${at} ms` }] });
const shown = () => document.querySelector(".tip")?.textContent ?? null;

function Bars() {
  const [hovered, hover] = useState<number | null>(null);
  const [selected, select] = useState<number | null>(null);
  return (
    <>
      <StackedBars
        label="bars"
        names={NAMES}
        unit="ms"
        heads={["1", "2", "3"]}
        firm={[false, false, false]}
        axis="step"
        tip={tip}
        parts={[{ id: "kernel", colour: "kernel", hatched: false, values: [1, 2, 3] }]}
        hovered={hovered}
        selected={selected}
        hover={hover}
        select={select}
      />
      <output>{selected}</output>
    </>
  );
}

function Lines() {
  const [hovered, hover] = useState<string | null>(null);
  const [selected, select] = useState<string | null>(null);
  const stops = NAMES.map((key, at) => ({ key, segment: 0, at }));
  const points = NAMES.map((_, stop) => ({ stop, value: 1e6 * (stop + 1) }));
  return (
    <>
      <LineChart
        label="lines"
        height={200}
        stops={stops}
        pad={0.5}
        scale={scaleFor(3e6, "ns")}
        colour="ink"
        tip={tip}
        segments={[{ from: 0, to: 2, caption: "step", marks: [] }]}
        lines={[{ key: "a", name: "a", focus: true, points }]}
        hovered={hovered}
        selected={selected}
        hover={hover}
        select={select}
      />
      <output>{selected}</output>
    </>
  );
}

test.each([
  ["bars", <Bars key="bars" />, "1"],
  ["lines", <Lines key="lines" />, "6"],
])(
  "%s show a tip under the pointer, select what is pressed, and lose the tip when the pointer leaves",
  (name, picture, selected) => {
    render(picture);
    const image = screen.getByRole("slider", { name });
    expect(shown()).toBeNull();
    fireEvent.pointerMove(image, { clientX: 500, clientY: 50 });
    expect(shown()).toBe("Step 6Kernel1 ms");
    fireEvent.click(image, { clientX: 500 });
    fireEvent.pointerLeave(image);
    expect(shown()).toBeNull();
    expect(document.querySelector("output")!.textContent).toBe(selected);
  },
);

test.each([
  ["bars", <Bars key="bars" />, "0"],
  ["lines", <Lines key="lines" />, "5"],
])("%s are read by arrow keys; Space keeps, Escape drops", (name, picture, first) => {
  render(picture);
  const image = screen.getByRole("slider", { name });
  const type = (key: string) => fireEvent.keyDown(image, { key });
  expect(image.getAttribute("aria-valuetext")).toBe("Nothing chosen. Arrow keys choose.");
  type("End");
  expect(shown()).toContain("Step 7");
  expect(image.getAttribute("aria-valuetext")).toBe("Step 7, Kernel 2 ms");
  expect(image.getAttribute("aria-valuenow")).toBe("3");
  type("ArrowRight");
  expect(shown()).toContain("Step 7");
  type("Home");
  expect(shown()).toContain("Step 5");
  type("ArrowUp");
  expect(shown()).toContain("Step 6");
  type("ArrowDown");
  type(" ");
  expect(document.querySelector("output")!.textContent).toBe(first);
  type("Escape");
  expect(document.querySelector("output")!.textContent).toBe("");
  expect(shown()).toBeNull();
});

test("a tip stands inside the frame: at the left of the pointer where there is no room at its right", () => {
  Object.defineProperty(HTMLElement.prototype, "offsetWidth", { configurable: true, get: () => 200 });
  render(<Bars />);
  fireEvent.pointerMove(screen.getByRole("slider", { name: "bars" }), { clientX: 950, clientY: 50 });
  expect(Number.parseFloat(document.querySelector<HTMLElement>(".tip")!.style.left)).toBeLessThan(800);
  Reflect.deleteProperty(HTMLElement.prototype, "offsetWidth");
});

test("a step that is chosen in one picture is chosen in all, and in the address", async () => {
  await openTab("view=data_loading");
  const [row] = await screen.findAllByText("6");
  fireEvent.click(row!.closest("tr")!);
  expect(keys().step).toBe("6");
  expect(row!.closest("tr")!.getAttribute("aria-selected")).toBe("true");
  fireEvent.click(row!.closest("tr")!);
  expect(keys().step).toBeUndefined();
});
