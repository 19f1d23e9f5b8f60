import { afterEach, expect, test, vi } from "vitest";
import type { Opening } from "../src/api.gen";
import { type Client, type Opener, SILENT } from "../src/server/client";
import { broughtAlong } from "../src/server/opening";
import { CATALOGUE } from "./fixtures/meanings";
import { index, PAGE, run, span } from "./fixtures/pages";

const OPENING: Opening = { index: index([run("a", [span(1)])]), catalogue: CATALOGUE, page: PAGE };
const GONE = { kind: "gone", value: SILENT };

afterEach(() => {
  globalThis.stepInsightsOpening = undefined;
});

function over(brought: string | undefined) {
  globalThis.stepInsightsOpening = brought;
  const server = { opening: vi.fn(async () => GONE) };
  return { server, client: broughtAlong(server as unknown as Client & Opener) };
}

test("what came with the script answers the request that it would have sent", async () => {
  const { server, client } = over(JSON.stringify(OPENING));
  expect(await client.opening({ view: "overview" })).toEqual({ kind: "ready", value: OPENING });
  expect(server.opening).not.toHaveBeenCalled();
  expect(globalThis.stepInsightsOpening).toBeUndefined();
});

test("an address that names something, or a script that came alone, asks the server", async () => {
  const { server, client } = over(JSON.stringify(OPENING));
  for (const asked of [{ view: "gpu" }, { view: "overview", run: "a" }] as Record<string, string>[]) {
    expect(await client.opening(asked)).toEqual(GONE);
    expect(server.opening).toHaveBeenLastCalledWith(asked);
  }
  expect(await over(undefined).client.opening({ view: "overview" })).toEqual(GONE);
});
