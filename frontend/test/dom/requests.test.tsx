/** What the tab requests from the server and when, and what it draws again when the answers come. */

import { act, screen } from "@testing-library/preact";
import { afterEach, describe, expect, test, vi } from "vitest";
import { VIEWS } from "../../src/views";
import type { SpanViewProps } from "../../src/views/props";
import { index, PAGE, ready, run, span } from "../fixtures/pages";
import { GONE, letTimePass, main, openTab, press, says, seconds } from "./fake_server";

const HEIGHT = window.innerHeight;

letTimePass();
afterEach(() => {
  window.innerHeight = HEIGHT;
});

/** Lets a minute pass. Returns how much the number of requests differs from one every five seconds. On a slow machine
 * the minute is longer by the time that the machine itself needs. */
async function minuteOf(requests: { log: string[] }): Promise<number> {
  const [began, before] = [Date.now(), requests.log.length];
  await seconds(60);
  return Math.abs(requests.log.length - before - (Date.now() - began) / 5000);
}

const READING = { state: "reading" as const, file: "w", file_number: 1, file_count: 2, progress: null };

const { part } = VIEWS.overview;
const Overview = part.now() as (props: SpanViewProps<"overview">) => null;

/** Replaces the drawing of the overview. */
function drawnBy(draw: (props: SpanViewProps<"overview">) => null) {
  const drawn = vi.fn(draw);
  vi.spyOn(part, "now").mockReturnValue(drawn as never);
  return drawn;
}

/** Returns a function that counts how often the overview was drawn. */
function draws(): () => number {
  const drawn = drawnBy(Overview);
  return () => drawn.mock.calls.length;
}

/** Hides the page as a browser does with a tab, or as TensorBoard does with the frame of a plugin in the background. */
const HIDINGS: [string, (hidden: boolean) => void][] = [
  [
    "a tab in the background",
    (hidden) => {
      vi.spyOn(document, "visibilityState", "get").mockReturnValue(hidden ? "hidden" : "visible");
      document.dispatchEvent(new Event("visibilitychange"));
    },
  ],
  [
    "a tab behind another plugin",
    (hidden) => {
      window.innerHeight = hidden ? 0 : HEIGHT;
      window.dispatchEvent(new Event("resize"));
    },
  ],
];

describe.each(HIDINGS)("%s", (_, hide) => {
  test("asks nothing, though files are read, and asks at once when it is shown", async () => {
    const server = says();
    server.index = ready(index([run("a", [span(1, "reading")])]));
    server.views.overview = { kind: "waiting", value: READING };
    const requests = await openTab("", server);
    await seconds(2);
    await act(async () => hide(true));
    const before = requests.log.length;
    await seconds(60);
    expect(requests.log.length).toBe(before);
    await act(async () => hide(false));
    await seconds(0.01);
    expect(requests.log.slice(before).sort()).toEqual(["index", "view overview id-1"]);
  });
});

describe("polls that changed nothing", () => {
  test("draw nothing", async () => {
    const drawn = draws();
    const server = says();
    const requests = await openTab("view=overview", server);
    await screen.findByText("A step takes long.");
    await seconds(1);
    const before = drawn();
    expect(await minuteOf(requests)).toBeLessThan(1);
    expect(drawn()).toBe(before);
  });

  test.each(["overview", "trends", "gpu", "host"])("change nothing in the document: %s", async (view) => {
    const requests = await openTab(`view=${view}`, says());
    await seconds(2);
    expect(main().dataset.state).toBe("ready");
    const changes: MutationRecord[] = [];
    const seen = new MutationObserver((records) => changes.push(...records));
    seen.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    expect(await minuteOf(requests)).toBeLessThan(1);
    expect(changes).toEqual([]);
    await act(async () => press(/^Data loading/, "link"));
    await seconds(1);
    expect(changes.length).toBeGreaterThan(0);
    seen.disconnect();
  });

  test("a page that says the same in another version of the index keeps its identity", async () => {
    const pages = new Set<unknown>();
    drawnBy(({ page }) => {
      pages.add(page);
      return null;
    });
    const server = says();
    const requests = await openTab("run=a&span=1", server);
    await seconds(1);
    server.views.overview = ready(structuredClone(PAGE));
    const more = [run("a", [span(1), span(2), span(3)]), run("b", [span(4)])];
    server.index = ready(index(more, { version: "2" }));
    await seconds(6);
    await seconds(1);
    expect(requests.log.filter((route) => route === "view overview id-1").length).toBe(2);
    expect(pages.size).toBe(1);
  });

  test("a changed page is drawn", async () => {
    const drawn = draws();
    const server = says();
    await openTab("run=a&span=1", server);
    await seconds(1);
    const before = drawn();
    server.index = ready(index([run("a", [span(1)])], { version: "2" }));
    await seconds(6);
    expect(drawn()).toBeGreaterThan(before);
  });
});

describe("a request that is not wanted any more", () => {
  test("is aborted when the view changes, and its answer is not shown", async () => {
    const server = says();
    const requests = await openTab("view=overview&run=a&span=1", server);
    await screen.findByText("A step takes long.");
    server.slow_ms = 2_000;
    await act(async () => press(/^Data loading/, "link"));
    await seconds(0.5);
    await act(async () => press(/^GPU/, "link"));
    expect(requests.aborted).toEqual(["view data_loading id-1"]);
    await seconds(1.8);
    expect(main().dataset.state).toBe("reading");
    await seconds(1);
    expect(main().querySelector("[data-view]")!.getAttribute("data-view")).toBe("gpu");
  });

  test("is not aborted by a newer version of itself, which is asked for after it", async () => {
    const server = { ...says(), slow_ms: 9_000 };
    let version = 1;
    const requests = await openTab("run=a&span=1", server);
    const timer = setInterval(() => {
      version += 1;
      const spans = Array.from({ length: 1 + version }, (_, at) => span(at + 1));
      server.index = ready(index([run("a", spans)], { version: String(version) }));
    }, 3_000);
    await seconds(9.5);
    await seconds(9.5);
    expect(requests.aborted).toEqual([]);
    expect(main().dataset.state).toBe("ready");
    await seconds(9.5);
    clearInterval(timer);
    expect(requests.log.filter((route) => route === "view overview id-1").length).toBe(2);
  });
});

test("missing figures are a problem, asked for after 1, 2, 4 ... seconds, and at once on a press", async () => {
  const server = says();
  const page = server.views.overview!;
  const broken = { problem: "The answer breaks off", file: "", hint: "Was the connection cut?" };
  server.views.overview = { kind: "gone", value: broken };
  const requests = await openTab("run=a&span=1", server);
  const count = () => requests.log.filter((route) => route.startsWith("view")).length;
  await seconds(0.1);
  expect(main().dataset.state).toBe("failed");
  expect(main().textContent).toContain("The answer breaks off.");
  expect(main().textContent).toContain("Was the connection cut?");
  expect(main().textContent).toMatch(/Trying again in 1\s+s\./);
  expect(count()).toBe(1);
  const counts = [];
  for (const pause of [1, 2, 4, 8, 16, 30, 30]) {
    await seconds(pause - 0.5);
    const early = count();
    await seconds(0.5);
    counts.push([early, count()]);
  }
  expect(counts).toEqual(Array.from({ length: 7 }, (_, at) => [at + 1, at + 2]));
  server.views.overview = page;
  await act(async () => press("Try again"));
  expect(await screen.findByText("A step takes long.")).toBeTruthy();
  expect(requests.log).not.toContain("retry id-1");
});

test("a catalogue that does not come is a problem too, and the tab opens once it does", async () => {
  const server = says();
  const { catalogue } = server;
  server.catalogue = GONE;
  await openTab("", server);
  await seconds(0.1);
  expect(main().textContent).toContain("Step Insights cannot be shown.");
  expect(main().textContent).toContain("TensorBoard does not answer.");
  server.catalogue = catalogue;
  await seconds(1);
  expect(await screen.findByText("A step takes long.")).toBeTruthy();
});

test("once the index comes again, figures are asked for without the rest of their pause", async () => {
  const server = says();
  const { index: there, views } = server;
  server.views = {};
  const requests = await openTab("run=a&span=1", server);
  server.index = GONE;
  await seconds(32);
  expect(main().dataset.state).toBe("failed");
  server.views = views;
  server.index = there;
  const indices = () => requests.log.filter((route) => route === "index").length;
  const before = indices();
  while (indices() === before) await seconds(0.1);
  await seconds(0.1);
  expect(main().dataset.state).toBe("ready");
});
