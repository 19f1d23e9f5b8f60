/** A step as a file of its own: it is saved, or handed to Perfetto, and messages appear meanwhile. */

import { fireEvent, screen } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Waiting } from "../../src/api.gen";
import type { Answer, SavedFile } from "../../src/server/client";
import { PERFETTO } from "../../src/views/timeline/step_line";
import { ready } from "../fixtures/pages";
import { PAGE, rest, show, timelineEvents } from "./shown_timeline";

const FILE: SavedFile = { name: "run_step6.pt.trace.json.gz", blob: new Blob(["bytes"]) };
const WAITING: Waiting = {
  state: "reading",
  file: "a.json",
  file_number: 1,
  file_count: 1,
  progress: { read_bytes: 3e6, total_bytes: 12e6, events: 5, bytes_per_second: null, seconds_left: null },
};

let saved: string[];
let requests: string[];
let answers: Answer<SavedFile>[];

beforeEach(async () => {
  vi.useFakeTimers();
  [saved, requests, answers] = [[], [], []];
  vi.stubGlobal("URL", Object.assign(URL, { createObjectURL: () => "blob:x", revokeObjectURL: () => {} }));
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push(this.download);
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function shown(...told: Answer<SavedFile>[]) {
  answers = told;
  const stepFile = async (_: string, step: string) => {
    requests.push(step);
    return answers.length > 1 ? answers.shift()! : answers[0]!;
  };
  await show(timelineEvents({ stepFile }), "p.tb_steptime.step=6");
}

async function choose(entry: RegExp) {
  fireEvent.click(screen.getByRole("button", { name: /Show as table, save/ }));
  fireEvent.click(screen.getByRole("menuitem", { name: entry }));
  await rest();
}

const status = () => document.querySelector(".event [role=status]")!.textContent!.replaceAll("\u00a0", " ");
const press = async (name: string) => {
  fireEvent.click(screen.getByRole("button", { name }));
  await rest();
};

test("a step is cut out, which takes a while, and is saved by the name that the server gives it", async () => {
  await shown({ kind: "waiting", value: WAITING }, ready(FILE));
  await choose(/Download step 6/);
  expect([status(), saved]).toEqual(["Cutting step 6 out of the trace: 3 of 12 MB", []]);
  await rest();
  expect([requests, saved]).toEqual([["6", "6"], [FILE.name]]);
  expect(status()).toContain(`Saved as ${FILE.name}, 5 B.`);
  await choose(/Download step 6/);
  expect(saved).toEqual([FILE.name, FILE.name]);
  await press("Close");
  expect(document.querySelector(".event [role=status]")).toBeNull();
});

test("Perfetto is opened by a press, after it is said where the events go", async () => {
  const sent: unknown[] = [];
  const opened = { closed: false, postMessage: (data: unknown) => void sent.push(data) };
  vi.stubGlobal("open", () => opened);
  await shown(ready(FILE));
  await choose(/Open step 6 in Perfetto/);
  expect([sent, saved]).toEqual([[], []]);
  expect(status()).toMatch(
    /^Step 6 is ready, 5 B. Perfetto gets it in a window of this browser.* Nothing is uploaded.$/,
  );
  await press("Open in Perfetto");
  expect([status(), sent[0]]).toEqual(["Waiting for Perfetto in the new window.", "PING"]);
  const event = new MessageEvent("message", { data: "PONG", origin: PERFETTO });
  Object.defineProperty(event, "source", { value: opened });
  window.dispatchEvent(event);
  await rest();
  expect(status()).toBe("Perfetto has it, in the new window. Nothing was uploaded.");
  expect((sent.at(-1) as { perfetto: { fileName: string } }).perfetto.fileName).toBe(FILE.name);
});

test("where no window opens, the file can be saved instead", async () => {
  vi.stubGlobal("open", () => null);
  await shown(ready(FILE));
  await choose(/Open step 6 in Perfetto/);
  await press("Open in Perfetto");
  expect(status()).toMatch(/^The browser blocked the new window/);
  await press("Download");
  expect(saved).toEqual([FILE.name]);
});

test("why there is no file is said", async () => {
  await shown({ kind: "problem", value: { problem: "The trace is gone", file: "", hint: "Put it back." } });
  await choose(/Download step 6/);
  expect([status(), saved]).toEqual(["The trace is gone. Put it back.", []]);
});

test("a recording that is one step has none to cut out", async () => {
  await show(timelineEvents({}), "", { ...PAGE, head: { ...PAGE.head, steps_by: "recording" } });
  fireEvent.click(screen.getByRole("button", { name: /Show as table, save/ }));
  expect(screen.queryByRole("menuitem", { name: /Perfetto/ })).toBeNull();
});
