import { expect, test, vi } from "vitest";
import { openClient, SILENT } from "../src/server/client";
import { ready } from "./fixtures/pages";

function answering(status: number, body: unknown, type = "application/json; charset=utf-8") {
  const requests: { url: string; headers: Headers }[] = [];
  const fetched = async (url: unknown, init?: RequestInit) => {
    requests.push({ url: String(url), headers: new Headers(init?.headers) });
    return new Response(typeof body === "string" ? body : JSON.stringify(body), {
      status,
      headers: { "Content-Type": type },
    });
  };
  return { client: openClient(fetched as typeof fetch), asked: requests };
}

/** Never answers, but rejects on an abort. */
const never = ((_: unknown, init?: RequestInit) =>
  new Promise((_resolve, reject) =>
    init!.signal!.addEventListener("abort", () => reject(new Error("aborted"))),
  )) as typeof fetch;

test("addresses are relative, and every request carries the header that lets work begin", async () => {
  const { client, asked: requests } = answering(200, {});
  await client.index();
  await client.view("a/b", "overview");
  await client.trends(["a&b", "c"], "c");
  await client.trends([], null, undefined, { metrics: ["step_time", "mfu"], strips: 64 });
  await client.timeline("s", { from: -5, to: 90, detail_ns: 4, folded: true }, new AbortController().signal);
  await client.event("s", { event: 7, folded: false }, new AbortController().signal);
  const sought = { words: "a&b", track: 3, folded: true, from: -5, first: 9 };
  await client.search("s", sought, new AbortController().signal);
  await client.retry("x&y");
  expect(requests.map(({ url }) => url)).toEqual([
    "index",
    "view?span=a%2Fb&view=overview",
    "trends?run=a%26b&run=c&focus=c",
    "trends?metric=step_time&metric=mfu&strips=64",
    "timeline?span=s&from=-5&to=90&detail=4&frames=own",
    "event?span=s&event=7",
    "search?span=s&words=a%26b&track=3&from=-5&first=9&frames=own",
    "retry?span=x%26y",
  ]);
  expect(requests.map(({ headers }) => headers.get("X-Tb-Steptime"))).toEqual(requests.map(() => "1"));
});

test("a status says what came of it", async () => {
  const kind = async (status: number) =>
    (await answering(status, { problem: "p", file: "f", hint: "h" }).client.index()).kind;
  expect(await Promise.all([200, 202, 404, 422, 500].map(kind))).toEqual([
    "ready",
    "waiting",
    "problem",
    "problem",
    "gone",
  ]);
});

test("a page that is not the plugin's is given as such, a proxy without a server behind it as gone", async () => {
  const login = await answering(200, "<html>Log in</html>", "text/html").client.index();
  expect(login).toMatchObject({ kind: "problem", value: { problem: expect.stringContaining("200") } });
  expect(await answering(502, "Bad gateway", "text/html").client.index()).toMatchObject({
    kind: "gone",
    value: { problem: "The server answered with error 502" },
  });
});

test("a server that does not answer is gone", async () => {
  const client = openClient((async () => {
    throw new TypeError("Failed to fetch");
  }) as typeof fetch);
  expect(await client.catalogue()).toEqual({ kind: "gone", value: SILENT });
});

test("an answer that is not whole JSON, or no object, says so", async () => {
  for (const body of ['{"runs": [', "", "null", "7"]) {
    expect(await answering(200, body).client.index()).toMatchObject({
      kind: "gone",
      value: { problem: "The answer of TensorBoard cannot be read: it is not whole JSON" },
    });
  }
});

test("a server that holds the connection open without an answer is slow after 20 s", async () => {
  const patience = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(patience.signal);
  const answer = openClient(never).view("s", "overview");
  expect(timeout).toHaveBeenCalledWith(20_000);
  patience.abort();
  expect(await answer).toMatchObject({
    kind: "gone",
    value: { problem: "TensorBoard did not answer within 20 s" },
  });
  timeout.mockRestore();
});

test("an abandoned request ends at once, whatever is asked for", async () => {
  const abandon = new AbortController();
  const { signal } = abandon;
  const client = openClient(never);
  const answers = [
    client.index(signal),
    client.catalogue(signal),
    client.view("s", "host", signal),
    client.trends([], null, signal),
    client.timeline("s", { from: 0, to: 1, detail_ns: 1, folded: false }, signal),
    client.event("s", { event: 7, folded: false }, signal),
  ];
  abandon.abort();
  expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(Array(6).fill("gone"));
});

test("a step is a file by the name that the server gives it; other answers are as everywhere", async () => {
  const file = async () =>
    new Response("bytes", {
      headers: { "Content-Type": "application/gzip", "Content-Disposition": 'attachment; filename="step5.json.gz"' },
    });
  const found = await openClient(file as typeof fetch).stepFile("s", "5", new AbortController().signal);
  expect(found).toMatchObject(ready({ name: "step5.json.gz" }));
  expect(found.kind === "ready" && (await found.value.blob.text())).toBe("bytes");
  const kind = async (status: number) => {
    const { client, asked: requests } = answering(status, { problem: "p", file: "f", hint: "h" });
    const { kind } = await client.stepFile("a/b", "5", new AbortController().signal);
    return [kind, requests[0]!.url, requests[0]!.headers.get("X-Tb-Steptime")];
  };
  const url = "slice?span=a%2Fb&first=5&last=5";
  expect(await Promise.all([202, 422, 500].map(kind))).toEqual([
    ["waiting", url, "1"],
    ["problem", url, "1"],
    ["gone", url, "1"],
  ]);
});
