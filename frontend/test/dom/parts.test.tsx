/** Parts of the tab are loaded when they are needed; the server may go away before that. */

import { act, screen } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { MISSING } from "../../src/frame/lazy_views";
import { later } from "../../src/lazy";
import { VIEWS } from "../../src/views";
import { letTimePass, main, openTab, press, seconds } from "./fake_server";

letTimePass();

/** Makes the GPU view a part that is not loaded yet. `answers` is the outcome of each attempt to load it. */
async function withoutGpu(...answers: ("fails" | "comes")[]) {
  const { part } = VIEWS.gpu;
  const whole = (await part.load()) as never;
  const attempts: string[] = [];
  const fresh = later<never>(async () => {
    const answer = answers[attempts.length] ?? "comes";
    attempts.push(answer);
    if (answer === "fails") throw new TypeError("Failed to fetch");
    return whole;
  });
  vi.spyOn(part, "now").mockImplementation(fresh.now);
  vi.spyOn(part, "load").mockImplementation(fresh.load);
  vi.spyOn(console, "warn").mockImplementation(() => {});
  return attempts;
}

const ready = () => [main().dataset.state, main().querySelector("[data-view]")?.getAttribute("data-view")];

test("a view whose part comes late is shown once it is there", async () => {
  await openTab();
  await seconds(1);
  const attempts = await withoutGpu();
  expect(attempts).toEqual([]);
  await act(async () => press(/^GPU/, "link"));
  await seconds(0.1);
  expect(attempts).toEqual(["comes"]);
  expect(ready()).toEqual(["ready", "gpu"]);
});

test("a part that does not come is asked for again, by itself and on a press; other views stay usable", async () => {
  await openTab();
  await seconds(1);
  const attempts = await withoutGpu("fails", "fails", "fails", "comes");
  await act(async () => press(/^GPU/, "link"));
  await seconds(0.1);
  expect(main().dataset.state).toBe("failed");
  expect(main().textContent).toContain(MISSING.problem);
  await seconds(1.1);
  expect(attempts.length).toBe(2);
  await act(async () => press(/^Overview/, "link"));
  expect(ready()).toEqual(["ready", "overview"]);
  await act(async () => press(/^GPU/, "link"));
  await seconds(0.1);
  expect(attempts.length).toBe(3);
  await act(async () => press("Try again"));
  await seconds(0.1);
  expect(attempts.length).toBe(4);
  expect(ready()).toEqual(["ready", "gpu"]);
});

test("the other views are loaded behind the first one", async () => {
  await openTab();
  const attempts = await withoutGpu();
  await screen.findByText("A step takes long.");
  expect(attempts).toEqual([]);
  await seconds(3);
  expect(attempts).toEqual(["comes"]);
});
