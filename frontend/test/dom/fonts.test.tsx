/** The tab's fonts: the first picture waits for them, but not for long. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { adoptFonts, loadFonts } from "../../src/dom/fonts";

let arrive: () => void = () => {};
let fail: () => void = () => {};
const added: string[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  added.length = 0;
  const arrival = new Promise<void>((resolve, reject) => {
    arrive = resolve;
    fail = reject;
  });
  vi.stubGlobal(
    "FontFace",
    class {
      constructor(public family: string) {}
      load = () => arrival.then(() => this);
    },
  );
  Object.defineProperty(document, "fonts", {
    configurable: true,
    value: { add: ({ family }: { family: string }) => added.push(family) },
  });
});
afterEach(() => {
  vi.useRealTimers();
  Reflect.deleteProperty(globalThis, "FontFace");
  Reflect.deleteProperty(document, "fonts");
});

const ALL = ["Roboto", "Roboto", "Roboto Mono"];

test("the first picture is drawn with fonts that come soon", async () => {
  const ready = loadFonts();
  arrive();
  await ready;
  expect(added).toEqual(ALL);
  adoptFonts();
  expect(added).toEqual(ALL);
});

test("late fonts are used for the next view, and are not waited for", async () => {
  const ready = loadFonts();
  await vi.advanceTimersByTimeAsync(1_000);
  await ready;
  arrive();
  await vi.advanceTimersByTimeAsync(0);
  expect(added).toEqual([]);
  adoptFonts();
  expect(added).toEqual(ALL);
});

test("without them the page is drawn all the same", async () => {
  const ready = loadFonts();
  fail();
  await ready;
  adoptFonts();
  expect(added).toEqual([]);
});
