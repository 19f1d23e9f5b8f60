/** A legend hides and shows its series, by pointer and by keyboard, and announces it. */

import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test } from "vitest";
import { Keys, useHidden } from "../../src/components/keys";
import { BurstPicture } from "../../src/views/data_loading/burst";
import { tab } from "../fixtures/figures";
import { TITLES, WORKERS } from "../fixtures/loading";

const SERIES = ["kernel", "copy", "data"].map((id) => ({ id, label: id, mark: <i class={`swatch of-${id}`} /> }));

function Legend() {
  const [off, hide] = useHidden();
  return <Keys label="Parts" keys={SERIES} off={off} choose={hide} />;
}

const button = (name: string) => screen.getByRole("button", { name });
const pressed = () => SERIES.map(({ id }) => button(id).getAttribute("aria-pressed") === "true");

test("a press hides a series, another shows it; its swatch is hollow meanwhile", () => {
  render(<Legend />);
  expect(screen.getByRole("list", { name: "Parts. A button shows or hides its series." })).toBeTruthy();
  expect(pressed()).toEqual([true, true, true]);
  fireEvent.click(button("copy"));
  expect(pressed()).toEqual([true, false, true]);
  expect(button("copy").querySelector(".swatch")!.className).toBe("swatch hollow");
  fireEvent.click(button("copy"));
  expect(pressed()).toEqual([true, true, true]);
});

test("Alt and a press shows a series alone, and all again", () => {
  render(<Legend />);
  fireEvent.click(button("data"), { altKey: true });
  expect(pressed()).toEqual([false, false, true]);
  fireEvent.click(button("data"), { altKey: true });
  expect(pressed()).toEqual([true, true, true]);
});

test("without the long waits the usual ones fill the picture", () => {
  const chosen = { hovered: null, selected: null, hover: () => undefined, select: () => undefined };
  const waits = WORKERS.burst!.waits.map((wait) => (wait.long ? wait : { ...wait, wait_ns: 1e6 }));
  const burst = { ...WORKERS.burst!, waits };
  const { container } = render(
    <BurstPicture result={WORKERS} titles={TITLES} burst={burst} chosen={chosen} tab={tab()} name="run" />,
  );
  const drawn = () => [...container.querySelectorAll(".wait-columns path.mark")].map((path) => path.getAttribute("d"));
  const [long, usual] = drawn();
  expect(long).not.toBe("");
  fireEvent.click(button("long wait"));
  const [gone, larger] = drawn();
  expect(gone).toBe("");
  expect(larger).not.toBe(usual);
});

test("what the device's work hides of a wait is hatched above the exposed part, and can be left out", () => {
  const chosen = { hovered: null, selected: null, hover: () => undefined, select: () => undefined };
  const waits = WORKERS.burst!.waits.map((wait) => ({ ...wait, hidden_ns: wait.long ? 20e6 : 0 }));
  const { container } = render(
    <BurstPicture
      result={WORKERS}
      titles={TITLES}
      burst={{ ...WORKERS.burst!, waits }}
      chosen={chosen}
      tab={tab()}
      name="run"
    />,
  );
  const hatched = () => container.querySelector('.wait-columns path[fill="url(#hatch-data)"]')?.getAttribute("d");
  const exposed = container.querySelector(".wait-columns path.mark")!.getAttribute("d")!;
  const edge = /V([\d.]+)h/.exec(exposed)![1]!;
  expect(hatched()!.match(/M/g)).toHaveLength(waits.filter((wait) => wait.long).length);
  expect(/^M[\d.]+ ([\d.]+)/.exec(hatched()!)![1]).toBe(edge);
  fireEvent.click(button("hidden behind work"));
  expect(hatched()).toBeUndefined();
});

test("the key names what is exposed only where some of a wait is", () => {
  const chosen = { hovered: null, selected: null, hover: () => undefined, select: () => undefined };
  const keysBeside = (exposed_ns: number) => {
    const waits = WORKERS.burst!.waits.map((wait) => ({
      ...wait,
      wait_ns: 20e6 + exposed_ns,
      hidden_ns: 20e6,
      long: false,
    }));
    const burst = { ...WORKERS.burst!, waits, period: null };
    const { container, unmount } = render(
      <BurstPicture result={WORKERS} titles={TITLES} burst={burst} chosen={chosen} tab={tab()} name="run" />,
    );
    const labels = [...container.querySelectorAll(".series-keys button")].map((key) => key.textContent);
    unmount();
    return labels;
  };
  expect(keysBeside(1e6)).toEqual(["exposed", "hidden behind work"]);
  expect(keysBeside(0)).toEqual(["hidden behind work"]);
});
