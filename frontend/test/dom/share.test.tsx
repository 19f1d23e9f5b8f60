/** What can be shared from the bar: link, summary and report. */

import { act, screen } from "@testing-library/preact";
import { afterEach, expect, test, vi } from "vitest";
import { openTab, press, says } from "./fake_server";

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

test("the summary is that of the chosen span, whichever view is shown", async () => {
  const copied = clipboard();
  const asked = await openTab("view=gpu&run=a&span=2");
  await choose("Copy summary as Markdown");
  expect(asked.log).toContain("view overview id-2");
  expect(copied[0]).toMatch(/^\*\*A step takes long\.\*\*\n/);
  expect(button().textContent).toContain("Copied");
  await choose("Copy link");
  expect(copied[1]).toContain("p.tb_steptime.view=gpu");
});

test("the report is saved, and one that did not come is said", async () => {
  const saved: string[] = [];
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push(this.download);
  });
  let page: Blob | null = null;
  await openTab("", says(), { report: async () => page });
  await open();
  expect(screen.getByRole("menuitem", { name: "Save as report" }).dataset.hint).toMatch(/without single events/);
  await open();
  await choose("Save as report");
  expect(button().textContent).toContain("Not saved");
  page = new Blob(["<!DOCTYPE html>"]);
  await choose("Save as report");
  expect(saved).toEqual(["report.html"]);
});

test("a report offers no report", async () => {
  await openTab();
  await open();
  expect(screen.getAllByRole("menuitem").map((entry) => entry.textContent)).toEqual([
    "Copy link",
    "Copy summary as Markdown",
  ]);
});
