import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test } from "vitest";
import { Legend } from "../../src/components/legend";
import { scaleFor } from "../../src/format";
import { OVERVIEW, PAGE, ready } from "../fixtures/pages";
import { openTab, says } from "./fake_server";

const PARTS = [
  ["kernel", 90e6],
  ["copy", 0.4e6],
  ["comm", 0.6e6],
  ["cpu", 9e6],
] as const;

function drawn(off: readonly string[] = [], parts: readonly (readonly [string, number])[] = PARTS) {
  const chosen: string[][] = [];
  const legend = (
    <Legend
      label="Parts"
      parts={parts.map(([id, ns]) => ({
        meaning: { id, label: id, colour: id, hatched: false, works: true, meaning: `About ${id}.` },
        ns,
        share: ns / 100e6,
        absent: undefined,
      }))}
      scale={scaleFor(100e6, "ns")}
      off={new Set(off)}
      choose={(next) => chosen.push([...next])}
    />
  );
  render(legend);
  return chosen;
}

const entries = () => screen.getAllByRole("button").map(({ textContent }) => textContent!.replaceAll("\u00a0", " "));

test("parts that can hardly be seen are one entry, which lists them and hides each", () => {
  const chosen = drawn();
  expect(entries()).toEqual(["kernel90.0 ms90.0 %", "cpu9.0 ms9.0 %", "2 parts under 1 %1.0 ms1.0 %"]);
  const small = screen.getByRole("button", { name: /2 parts/ });
  expect(small.getAttribute("data-hint")!.replaceAll("\u00a0", " ")).toBe("copy 0.4 ms\ncomm 0.6 ms");
  fireEvent.click(small);
  expect(entries().slice(3)).toEqual(["copy0.4 ms0.4 %", "comm0.6 ms0.6 %"]);
  fireEvent.click(screen.getByRole("button", { name: /comm/ }));
  expect(chosen).toEqual([["comm"]]);
  fireEvent.click(small);
  expect(entries()).toHaveLength(3);
});

test("a hidden part is in sight, and a single small part is an entry like any other", () => {
  drawn(["copy"]);
  expect(screen.getByRole("button", { name: /copy/ }).getAttribute("aria-pressed")).toBe("false");
  document.body.replaceChildren();
  drawn([], PARTS.slice(0, 2));
  expect(entries()).toEqual(["kernel90.0 ms90.0 %", "copy0.4 ms0.4 %"]);
});

test.each([
  ["host", 2, true],
  ["overview", 1, true],
  ["overview", 2, false],
])("the legend of the mean step stands once, in %s of %i steps under its bar: %s", async (view, steps, underBar) => {
  const result = { ...OVERVIEW, steps: OVERVIEW.steps.slice(0, steps) };
  const value = { ...PAGE, result };
  await openTab(`view=${view}`, { ...says(), views: { ...says().views, overview: ready(value) } });
  const legend = await screen.findByRole("list", { name: /^Parts of the mean step/ });
  expect(screen.getByRole("figure", { name: /^Mean step of/ }).contains(legend)).toBe(underBar);
});
