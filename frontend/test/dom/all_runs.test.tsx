import { fireEvent, screen, waitFor, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { RunLine } from "../../src/api.gen";
import { sentence } from "../../src/phrase";
import { index, parts, plain, ready, run, span } from "../fixtures/pages";
import { GONE, keys, openTab, says } from "./fake_server";

const MS = 1_000_000;

const line = (name: string, id: number, work: number, step_ms: number, more: Partial<RunLine> = {}): RunLine => ({
  ...{ run: name, worker: "worker0", number: id, span: `id-${id}`, work, others: 0, ranks: 1, step_ns: step_ms * MS },
  ...{ trend_ns: [step_ms * MS, step_ms * MS], parts_ns: parts({ kernel: step_ms * MS }), bound: "gpu" as const },
  ...{ fix: null, agreement: null, gain_ns: 0, gain_fraction: 0 },
  ...{ job: plain("training · eager"), machine: plain("T4"), ...more },
});

const FIX = { fix: plain("Use graphs"), gain_ns: 3 * MS, gain_fraction: 0.3, bound: "host" as const };

const LINES = [
  line("alone", 1, 0, 50),
  line("eager", 2, 1, 10, FIX),
  line("graphed", 3, 1, 7, { others: 2 }),
  line("amp_eager", 4, 1, 8, { ...FIX, gain_fraction: 0.4, machine: plain("A100"), agreement: plain("2 of 3 spans") }),
];

async function openRuns(address = "all=runs", lines = LINES) {
  const server = says();
  const names = [...LINES.map(({ run }) => run), "new"];
  const spans = names.map((_, at) => span(at + 1, at === 4 ? "unread" : "ready"));
  server.index = ready(index(names.map((name, at) => run(name, [spans[at]!]))));
  const headline = plain("In 2 of 4 runs something other than the GPU sets the pace.");
  const runs = async () => ready({ headline, lines, left: 0 });
  await openTab(address, server, { runs });
  if (address === "all=runs") await screen.findByRole("table", { name: "Runs" });
  return server;
}

const rows = () =>
  within(screen.getByRole("table", { name: "Runs" }))
    .getAllByRole("row")
    .slice(1)
    .map((row) => row.querySelector("a, b")!.textContent);

test("runs of the same work stand together, the largest share first; those alone and unread come last", async () => {
  await openRuns();
  expect(screen.getByRole("heading", { level: 1 }).textContent).toContain("In 2 of 4 runs");
  expect(rows()).toEqual([
    ...["Training · eager", "amp_eager", "eager", "graphed"],
    ...["Alone in what they compute", "alone", "Not read yet", "new"],
  ]);
  const fix = within(screen.getByRole("row", { name: /amp_eager/ })).getAllByRole("cell")[5]!;
  expect([fix.textContent, fix.dataset.hint]).toEqual(Array(2).fill("Use graphs (2 of 3 spans)"));
  const others = screen.getAllByText(/of other work$/).map((each) => each.closest("[role=row]")!.textContent);
  expect(others).toEqual([expect.stringMatching(/^graphed and 2.processes of other work/)]);
});

test("a row says where it ran only where the title of its group does not", async () => {
  const there = LINES.map((each) => ({ ...each, job: plain(`training · ${sentence(each.machine)}`) }));
  await openRuns("all=runs", there);
  expect(rows()[0]).toBe("Training · A100"); // that of the first run
  const machines = screen.getAllByRole("row").map((row) => [
    row.querySelector("a")?.textContent,
    within(row)
      .queryByText(/^(T4|A100)$/)
      ?.textContent?.trim(),
  ]);
  expect(machines.filter(([name]) => name && name !== "new")).toEqual([
    ...[
      ["amp_eager", undefined],
      ["eager", "T4"],
      ["graphed", "T4"],
    ],
    ["alone", "T4"],
  ]);
});

test("heads sort within groups, words and filters narrow, and the address keeps them", async () => {
  await openRuns();
  fireEvent.click(screen.getByRole("button", { name: "Step" }));
  expect(rows().slice(0, 4)).toEqual(["Training · eager", "eager", "amp_eager", "graphed"]);
  expect(keys().all_runs).toBe("-step");
  fireEvent.input(screen.getByRole("searchbox"), { target: { value: "GRAPHS eager" } });
  expect(rows()).toEqual(["Training · eager", "eager", "amp_eager"]);
  fireEvent.click(within(screen.getByRole("navigation", { name: "Which runs" })).getByRole("button", { name: /A100/ }));
  expect(rows()).toEqual(["Alone in what they compute", "amp_eager"]);
  expect(keys()).toMatchObject({ having: "GRAPHS eager", machine: "A100" });
  fireEvent.input(screen.getByRole("searchbox"), { target: { value: "nothing" } });
  fireEvent.click(screen.getByRole("button", { name: "Show all" }));
  expect(rows()).toHaveLength(8);
});

test("a group compares its fastest with its slowest, marked rows each other", async () => {
  await openRuns();
  const button = within(screen.getByRole("table", { name: "Runs" })).getByRole("button", { name: "Compare" });
  expect(button.parentElement!.getAttribute("role")).toBe("cell"); // a row has nothing but cells
  fireEvent.click(button);
  expect(keys()).toMatchObject({ view: "compare", run: "graphed", with: "eager/worker0/2" });
});

test("Space marks rows and c compares the two", async () => {
  await openRuns();
  for (const name of ["alone", "eager"]) fireEvent.keyDown(screen.getByRole("link", { name }), { key: " " });
  fireEvent.keyDown(screen.getByRole("link", { name: "eager" }), { key: "c" });
  expect(keys()).toMatchObject({ view: "compare", run: "eager", with: "alone/worker0/1" });
});

test("a row opens its run, and the bar leads back", async () => {
  await openRuns("run=eager");
  fireEvent.click(await screen.findByRole("link", { name: "All runs" }));
  fireEvent.click(await screen.findByRole("link", { name: "graphed" }));
  await waitFor(() => expect(keys()).toMatchObject({ run: "graphed", span: 3 }));
  expect(keys().all).toBeUndefined();
});

test("what sets the pace is called as in the Overview, and one entry stands for all that are called so", async () => {
  await openRuns("all=runs", [...LINES.slice(0, 3), line("amp_eager", 4, 1, 8, { bound: "cpu" })]);
  const which = within(screen.getByRole("navigation", { name: "Which runs" }));
  expect(which.getAllByRole("button").map((each) => each.textContent)).toEqual(["GPU 2", "CPU 2", "T4 4"]);
  fireEvent.click(which.getByRole("button", { name: "CPU 2" }));
  expect(rows()).toEqual(["Training · eager", "eager", "amp_eager"]);
  expect(keys().limit).toBe("CPU");
});

test("the row of a job says that its step is that of so many ranks", async () => {
  await openRuns("all=runs", [line("alone", 1, 0, 50, { ranks: 8 }), ...LINES.slice(1)]);
  const row = (name: string) => screen.getByRole("link", { name }).closest("[role=row]")!;
  expect([row("alone"), row("eager")].map((each) => each.textContent!.includes("ranks"))).toEqual([true, false]);
  expect(row("alone").textContent).toContain("8 ranks");
});

test("a server that is gone is said above the table, which stays", async () => {
  const server = await openRuns();
  server.index = GONE;
  await screen.findByText("TensorBoard does not answer.", {}, { timeout: 20_000 });
  expect(rows()).toHaveLength(8);
}, 30_000);
