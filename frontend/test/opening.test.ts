import { afterEach, expect, test, vi } from "vitest";
import type { Index, Opening } from "../src/api.gen";
import { type Answer, type Client, type Opener, SILENT } from "../src/server/client";
import { broughtAlong, opened } from "../src/server/opening";
import { type AnswerCache, pageName } from "../src/server/use_answer";
import { CATALOGUE } from "./fixtures/meanings";
import { index, PAGE, ready, run, span } from "./fixtures/pages";

const INDEX = index([run("a", [span(1)])]);
const FIRST: Opening = { index: INDEX, catalogue: CATALOGUE, page: PAGE };
const LATER: Answer<Index> = ready({ ...INDEX, version: "later" });

function over(opening: Answer<Opening>) {
  const cache: AnswerCache = new Map();
  const requests = {
    opening: vi.fn(async () => opening),
    index: vi.fn(async () => LATER),
    catalogue: vi.fn(async () => ready(CATALOGUE)),
    view: vi.fn(async () => ready({ ...PAGE, notes: [] })),
  };
  const server = requests as unknown as Client & Opener;
  const client = opened(server, { run: "a b", span: 2, steps: "recording" }, "overview", cache);
  return { asked: requests, cache, client };
}

test("one request is sent at once, and answers the first three", async () => {
  const { asked: requests, cache, client } = over(ready(FIRST));
  expect(requests.opening).toHaveBeenCalledWith({ view: "overview", run: "a b", number: "2", steps: "recording" });
  expect(await client.index()).toEqual(ready(INDEX));
  expect(cache.get(pageName("overview", PAGE.head.id))).toEqual(ready(PAGE));
  expect(await client.catalogue()).toEqual(ready(CATALOGUE));
  expect(await client.view(PAGE.head.id, "overview")).toEqual(ready(PAGE));
  expect([requests.index, requests.catalogue, requests.view].map((each) => each.mock.calls.length)).toEqual([0, 0, 0]);
});

test("later requests go to the server, and so do those for another page", async () => {
  const { asked: requests, client } = over(ready(FIRST));
  await client.index();
  expect(await client.index()).toBe(await LATER);
  await client.view(PAGE.head.id, "gpu");
  await client.view(PAGE.head.id, "overview");
  expect(requests.view).toHaveBeenCalledTimes(1);
  await client.view(PAGE.head.id, "overview");
  expect(requests.view).toHaveBeenCalledTimes(2);
});

test("a span that is not read has no page yet", async () => {
  const { asked: requests, cache, client } = over(ready({ ...FIRST, page: null }));
  expect(await client.index()).toEqual(ready(INDEX));
  expect(cache.size).toBe(0);
  await client.view(PAGE.head.id, "overview");
  expect(requests.view).toHaveBeenCalledTimes(1);
});

test("a server that is gone is not waited for twice; one that lacks the route is asked as before", async () => {
  const gone = over({ kind: "gone", value: SILENT });
  expect(await gone.client.index()).toEqual({ kind: "gone", value: SILENT });
  expect(gone.asked.index).not.toHaveBeenCalled();
  const older = over({ kind: "problem", value: SILENT });
  expect(await older.client.index()).toEqual(LATER);
  expect(await older.client.catalogue()).toEqual(ready(CATALOGUE));
});

const OPENING: Opening = { index: index([run("a", [span(1)])]), catalogue: CATALOGUE, page: PAGE };
const GONE = { kind: "gone", value: SILENT };

afterEach(() => {
  globalThis.stepInsightsOpening = undefined;
});

function broughtOver(brought: string | undefined) {
  globalThis.stepInsightsOpening = brought;
  const server = { opening: vi.fn(async () => GONE) };
  return { server, client: broughtAlong(server as unknown as Client & Opener) };
}

test("what came with the script answers the request that it would have sent", async () => {
  const { server, client } = broughtOver(JSON.stringify(OPENING));
  expect(await client.opening({ view: "overview" })).toEqual(ready(OPENING));
  expect(server.opening).not.toHaveBeenCalled();
  expect(globalThis.stepInsightsOpening).toBeUndefined();
});

test("an address that names something, or a script that came alone, asks the server", async () => {
  const { server, client } = broughtOver(JSON.stringify(OPENING));
  for (const query of [{ view: "gpu" }, { view: "overview", run: "a" }] as Record<string, string>[]) {
    expect(await client.opening(query)).toEqual(GONE);
    expect(server.opening).toHaveBeenLastCalledWith(query);
  }
  expect(await broughtOver(undefined).client.opening({ view: "overview" })).toEqual(GONE);
});
