/** The address, and what can be shared from the bar: link, summary and report. */

import { act, fireEvent, screen, waitFor } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Client } from "../../src/server/client";
import { index, PAGE, plain, ready, run, span } from "../fixtures/pages";
import { ranksPage } from "../fixtures/ranks";
import { keys, openTab, press, type Says, says } from "./fake_server";

beforeEach(() => {
  window.location.hash = "";
});

const heading = () => screen.findByRole("heading", { level: 1 });

describe("the address", () => {
  test("names the view that is shown, and a link to a view writes it", async () => {
    await openTab("view=host");
    expect(await screen.findByRole("link", { name: /^Host/, current: "page" })).toBeTruthy();
    press(/^Tensor cores/, "link");
    expect(await screen.findByText("Half runs on tensor cores")).toBeTruthy();
    expect(keys()).toEqual({ view: "tensor_cores" });
  });

  test("changed by hand or by the browser's back shows what it names", async () => {
    await openTab("view=overview");
    await heading();
    await act(async () => {
      window.location.hash = "#tb_steptime&p.tb_steptime.view=data_loading";
      window.dispatchEvent(new Event("hashchange"));
    });
    expect(await screen.findByText("Most of the wait leaves the GPU idle")).toBeTruthy();
  });

  test("another view is a step that Back undoes; what changes within one is not", async () => {
    await openTab("view=overview");
    const before = window.history.length;
    fireEvent.click(await screen.findByRole("button", { name: /^Kernel/ }));
    expect(window.history.length).toBe(before);
    press(/^Host/, "link");
    expect(window.history.length).toBe(before + 1);
    press(/^Host/, "link");
    expect(window.history.length).toBe(before + 1);
  });

  test("the title of the page says view and run, and is TensorBoard's own on another tab", async () => {
    document.title = "TensorBoard";
    await openTab("view=host&run=b");
    await waitFor(() => expect(document.title).toBe("Host · b · Step Insights"));
    await act(async () => {
      window.location.hash = "#scalars";
      window.dispatchEvent(new Event("hashchange"));
    });
    expect(document.title).toBe("TensorBoard");
  });

  test("keeps what others wrote in it", async () => {
    window.location.hash = "";
    await openTab("view=overview");
    window.location.hash += "&tagFilter=loss";
    press(/^Host/, "link");
    await waitFor(() => expect(window.location.hash).toContain("tagFilter=loss"));
    expect(window.location.hash.startsWith("#tb_steptime&")).toBe(true);
  });

  test("with an unknown view or step shows what there is", async () => {
    await openTab("view=nowhere&step=99&zoom=soon&span=-1");
    expect(await screen.findByText("A step takes long.")).toBeTruthy();
  });

  test("names the parts that a legend hides, and a press shows them again", async () => {
    await openTab("view=overview&off=data_loader");
    const button = await screen.findByRole("button", { name: /^Data loading/, pressed: false });
    fireEvent.click(button);
    expect(keys().off).toBeUndefined();
    fireEvent.click(screen.getByRole("button", { name: /^Kernel/ }));
    expect(keys().off).toEqual(new Set(["kernel"]));
  });

  test("names the span, and another run forgets the step of this one", async () => {
    const requests = await openTab("run=a&worker=worker0&span=2&step=6");
    await waitFor(() => expect(requests.log).toContain("view overview id-2"));
    press("Run a");
    fireEvent.click(await screen.findByRole("option", { name: /^b/ }));
    expect(keys()).toMatchObject({ run: "b", worker: "worker0", span: 3 });
    expect(keys().step).toBeUndefined();
    await waitFor(() => expect(requests.log).toContain("view overview id-3"));
  });

  test("a comparison asks for both spans", async () => {
    const requests = await openTab("run=a&span=2&with=b/worker0/3");
    await waitFor(() => expect(requests.log).toContain("view overview id-3"));
    expect(await screen.findAllByText("the same in b")).not.toHaveLength(0);
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

function clipboard(): string[] {
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => void copied.push(text) } });
  return copied;
}

const button = () => document.querySelector<HTMLElement>("header .menu > button")!;

const open = async () => {
  await screen.findByRole("navigation");
  await act(async () => button().click());
};

async function choose(entry: string) {
  await open();
  await act(async () => {
    press(entry, "menuitem");
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
}

test("in Compare the summary is that of the comparison", async () => {
  const copied = clipboard();
  const asked = await openTab("view=compare&run=a&span=2&with=b/worker0/3");
  await choose("Copy summary as Markdown");
  await waitFor(() => expect(copied).toHaveLength(1));
  expect(asked.log.filter((route) => route.startsWith("compare ")).at(-1)).toBe("compare id-3 id-2");
  expect(copied[0]).toMatch(/^\*\*a is 1.43x faster than b\.\*\*\n/);
});

test.each(["overview", "ranks"])("of a rank, at %s, the summary begins with that of its job", async (view) => {
  const copied = clipboard();
  const [one, other] = [span(1), span(2)];
  const workers = [one, other].map((each, at) => ({ name: `worker${at}`, rank: at, spans: [each] }));
  const job = ranksPage({ do_first: plain("Pin the ranks."), headline: { ...PAGE.headline, verdict: LATE } });
  const told: Says = { ...says(), ranks: ready(job) };
  told.index = ready(index([{ ...run("a", [one]), workers }]));
  await openTab(`view=${view}&run=a`, told);
  await choose("Copy summary as Markdown");
  await waitFor(() => expect(copied).toHaveLength(1));
  expect(copied[0]).toMatch(/^\*\*Rank 1 is late\.\*\*\n\nPin the ranks\.\n.*\*\*A step takes long\.\*\*/s);
});

const LATE = plain("Rank 1 is late.");

test("the summary is that of the chosen span, whichever other view is shown", async () => {
  const copied = clipboard();
  const requests = await openTab("view=gpu&run=a&span=2");
  await choose("Copy summary as Markdown");
  await waitFor(() => expect(button().textContent).toContain("Copied"));
  expect(requests.log).toContain("view overview id-2");
  expect(copied[0]).toMatch(/^\*\*A step takes long\.\*\*\n/);
  await choose("Copy link");
  expect(copied[1]).toContain("p.tb_steptime.view=gpu");
});

const DIFFICULT = `a: "x"/b? ${"长".repeat(90)}`;

test.each([
  ["", "a report.html"],
  ["run=b&with=a/worker0/1", "b vs a report.html"],
  ["all=runs", "All runs report.html"],
  [`run=${encodeURIComponent(DIFFICULT)}`, `a x b ${"长".repeat(70)} report.html`],
])("the report of %s is called %s, and one that did not come is said", async (address, name) => {
  const saved: string[] = [];
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push(this.download);
  });
  let page: Blob | null = null;
  const server = says();
  if (address.includes("%")) server.index = ready(index([run(DIFFICULT, [span(1)])]));
  const runs = async () => ready({ headline: null, lines: [], left: 0 });
  await openTab(address, server, { report: async () => page, runs });
  await open();
  expect(screen.getByRole("menuitem", { name: "Save as report" }).dataset.hint).toMatch(/no single events/);
  await open();
  await choose("Save as report");
  expect(button().textContent).toContain("Not saved");
  page = new Blob(["<!DOCTYPE html>"]);
  await choose("Save as report");
  expect(saved).toEqual([name]);
  expect(new TextEncoder().encode(name).length).toBeLessThanOrEqual(255);
});

test.each([
  ["view=compare&run=a&span=2&with=b%2Fworker0%2F3", { view: "compare", with: "b/worker0/3" }, "id-3"],
  ["view=gpu&run=a&span=2&totals=recording", { view: "gpu", totals: "recording" }, null],
  ["view=timeline&run=a&span=2", {}, null], // a report that is saved from the tab has no events
])("the report that is saved at %s opens there, with what is compared", async (address, place, base) => {
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => {});
  const asked: Parameters<NonNullable<Client["report"]>>[] = [];
  const report: Client["report"] = async (...of) => {
    asked.push(of);
    return new Blob(["<!DOCTYPE html>"]);
  };
  await openTab(address, says(), { report });
  await choose("Save as report");
  const span = { run: "a", worker: "worker0", span: "2" };
  expect(asked).toEqual([[{ ...span, ...place }, base && { base, candidate: "id-2" }]]);
});

test("a report opens at the span that is shown, which the address need not name", async () => {
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => {});
  const report = vi.fn<NonNullable<Client["report"]>>(async () => null);
  await openTab("", says(), { report });
  await choose("Save as report");
  expect(report.mock.calls).toEqual([[{ run: "a", worker: "worker0", span: "1" }, null]]);
});

test("a report offers no report", async () => {
  await openTab();
  await open();
  expect(screen.getAllByRole("menuitem").map((entry) => entry.textContent)).toEqual([
    "Copy link",
    "Copy summary as Markdown",
  ]);
});
