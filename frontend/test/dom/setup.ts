/** What a browser has and the simulated document lacks: a size for every element, and a canvas that accepts drawing. */

import { cleanup, configure } from "@testing-library/preact";
import { afterEach, beforeEach, vi } from "vitest";

/** What appears is waited for as long as a full machine may take; a test ends as soon as it is there. */
configure({ asyncUtilTimeout: 20_000 });

/** Every element is this large and stands at the top left corner of the page. */
export const WIDTH = 1000;
export const HEIGHT = 400;

const size = (value: number) => ({ configurable: true, get: () => value });
Object.defineProperties(HTMLElement.prototype, { clientWidth: size(WIDTH), clientHeight: size(HEIGHT) });

Element.prototype.setPointerCapture = () => {};
Element.prototype.scrollIntoView = () => {};

/** Accepts every call and every property; a text is six pixels a letter. */
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

/** What opens over the page takes Escape before any other: one that a test leaves open would take it from the next. */
const takers = new Set<EventListener>();
const listen = Document.prototype.addEventListener;
beforeEach(() => {
  document.addEventListener = (type: string, listener: EventListener, options?: boolean | AddEventListenerOptions) => {
    if (type === "keydown" && options === true) takers.add(listener);
    listen.call(document, type, listener, options);
  };
});

// Files share one document: what a test replaces in it would stay for the next file.
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  for (const each of takers) document.removeEventListener("keydown", each, true);
  takers.clear();
  Reflect.deleteProperty(document, "addEventListener");
  document.body.innerHTML = "";
});
