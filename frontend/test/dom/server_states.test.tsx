import { act, fireEvent, screen, waitFor } from "@testing-library/preact";
import { describe, expect, test, vi } from "vitest";
import { index, PAGE, ready, run, span } from "../fixtures/pages";
import { GONE, letTimePass, main, openTab, press, says, seconds } from "./fake_server";

letTimePass();

describe("a server that does not answer", () => {
  test("keeps the figures, says when it asks again, and asks at once on a press", async () => {
    const server = says();
    const requests = await openTab("view=overview", server);
    await screen.findByText("A step takes long.");
    server.index = GONE;
    await seconds(6);
    expect(main().textContent).toContain("TensorBoard does not answer.");
    expect(main().textContent).toContain("A step takes long.");
    const before = requests.log.filter((route) => route === "index").length;
    server.index = says().index;
    await act(async () => press("Now"));
    await seconds(0.1);
    expect(requests.log.filter((route) => route === "index").length).toBe(before + 1);
    expect(main().textContent).not.toContain("TensorBoard does not answer.");
  });

  test("from the start says so and goes on asking", async () => {
    const server = { ...says(), index: GONE };
    const requests = await openTab("", server);
    await seconds(0.1);
    expect(main().dataset.state).toBe("failed");
    expect(main().textContent).toContain("TensorBoard does not answer");
    const before = requests.log.length;
    await seconds(31);
    expect(requests.log.length).toBeGreaterThan(before);
  });
});

describe("a span that cannot be analysed", () => {
  const problem = { problem: "The file ends inside an event", file: "a/w.json", hint: "Record it again." };

  test("says why, and a retry reaches the server and brings the figures", async () => {
    const server = says();
    server.views.overview = { kind: "problem", value: problem };
    const requests = await openTab("run=a&span=2", server);
    expect(await screen.findByText("This trace could not be analysed.")).toBeTruthy();
    expect(main().textContent).toContain("Record it again.");
    server.views.overview = ready(PAGE);
    press("Try again");
    expect(await screen.findByText("A step takes long.")).toBeTruthy();
    expect(requests.log).toContain("retry id-2");
  });

  test("leaves the other spans usable", async () => {
    const server = says();
    server.index = ready(index([run("a", [span(1, "failed", { error: problem }), span(2)])]));
    await openTab("run=a&span=1", server);
    expect(await screen.findByText("This trace could not be analysed.")).toBeTruthy();
    press(/^span/);
    fireEvent.click(await screen.findByRole("option", { name: /^2/ }));
    expect(await screen.findByText("A step takes long.")).toBeTruthy();
  });
});

test("a span that is being read shows its bytes, and the figures once they are there", async () => {
  const server = says();
  const progress = { read_bytes: 4e6, total_bytes: 10e6, events: 1000, bytes_per_second: null, seconds_left: null };
  const waiting = { state: "reading" as const, file: "w", file_number: 1, file_count: 2, progress };
  server.views.overview = { kind: "waiting", value: waiting };
  server.index = ready(index([run("a", [span(1, "reading", { progress })])]));
  await openTab("", server);
  const bar = await screen.findByRole("progressbar", { name: "Bytes read" });
  await waitFor(() => expect(bar.getAttribute("aria-valuenow")).toBe("40"));
  server.views.overview = ready(PAGE);
  server.index = ready(index([run("a", [span(1)])], { version: "2" }));
  await seconds(6);
  expect(main().dataset.state).toBe("ready");
});

test("an empty log directory shows how to record, and a first trace appears by itself", async () => {
  const server = says();
  server.index = ready(index([]));
  await openTab("", server);
  expect(await screen.findByText("No traces in this log directory yet.")).toBeTruthy();
  expect(screen.getByText("tb-steptime hang DUMPS"), "a job that hangs writes no trace").toBeTruthy();
  server.index = ready(index([run("a", [span(1)])], { version: "2" }));
  await seconds(6);
  expect(await screen.findByText("A step takes long.")).toBeTruthy();
});

test("the bar says which files could not be read, and why", async () => {
  const server = says();
  const error = { problem: "The file is empty", file: "a/b.json", hint: "Record it again." };
  server.index = ready(index([run("a", [span(1), span(2, "failed", { file: "a/b.json", error })])]));
  await openTab("", server);
  expect((await screen.findByText(/1 failed/)).dataset.hint).toBe("a/b.json: The file is empty.");
});

test("a view that throws leaves the frame usable", async () => {
  const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
  const server = says();
  server.views.host = ready({ ...PAGE, result: null } as never);
  await openTab("view=host", server);
  expect(await screen.findByText("This view could not be drawn.")).toBeTruthy();
  press(/^Overview/, "link");
  expect(await screen.findByText("A step takes long.")).toBeTruthy();
  quiet.mockRestore();
});

test("where the run that the address names is gone, the page says which other one it shows", async () => {
  const server = says();
  await openTab("run=b", server);
  await screen.findByText("A step takes long.");
  expect(main().textContent).not.toContain("There is no run b");
  const kept = server.index.kind === "ready" ? server.index.value : null;
  server.index = ready({ ...kept!, version: "2", runs: kept!.runs.slice(0, 1) });
  await seconds(6);
  expect(main().textContent).toContain("There is no run b here. This is a.");
});
