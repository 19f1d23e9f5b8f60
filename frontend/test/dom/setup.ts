/** What the simulated document lacks but browsers have: a size for every element, and a canvas that accepts drawing. */

import { cleanup, configure } from "@testing-library/preact";
import { afterEach, beforeEach, vi } from "vitest";

/** Tests wait for an element as long as a fully loaded machine may need, and continue as soon as it is there. */
configure({ asyncUtilTimeout: 20_000 });

/** Every element has this size and is at the top left corner of the page. */
export const WIDTH = 1000;
export const HEIGHT = 400;

const size = (value: number) => ({ configurable: true, get: () => value });
Object.defineProperties(HTMLElement.prototype, { clientWidth: size(WIDTH), clientHeight: size(HEIGHT) });

Element.prototype.setPointerCapture = () => {};
Element.prototype.scrollIntoView = () => {};

/** Accepts every call and every property. Each letter of a text is six pixels wide. */
const pen = new Proxy(
  {},
  {
    get: (_, name) => {
      if (name === "measureText") return (text: string) => ({ width: 6 * text.length });
      if (name === "getTransform") return () => ({ a: 1 });
      return () => {};
    },
    set: () => true,
  },
);
HTMLCanvasElement.prototype.getContext = (() => pen) as unknown as HTMLCanvasElement["getContext"];
vi.stubGlobal(
  "OffscreenCanvas",
  class {
    getContext = () => pen;
  },
);
vi.stubGlobal("ImageData", class {});

/** A popup takes Escape first. If a test left a popup open, it would take Escape from the next test. */
const takers = new Set<EventListener>();
const listen = Document.prototype.addEventListener;
beforeEach(() => {
  document.addEventListener = (type: string, listener: EventListener, options?: boolean | AddEventListenerOptions) => {
    if (type === "keydown" && options === true) takers.add(listener);
    listen.call(document, type, listener, options);
  };
});

// Files share one document, so what a test replaces in it would stay there for the next file.
afterEach(() => {
  vi.useRealTimers();
  cleanup();
  vi.restoreAllMocks();
  for (const each of takers) document.removeEventListener("keydown", each, true);
  takers.clear();
  Reflect.deleteProperty(document, "addEventListener");
  document.body.innerHTML = "";
});
