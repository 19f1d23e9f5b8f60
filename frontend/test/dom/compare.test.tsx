import { fireEvent, render, screen, waitFor, within } from "@testing-library/preact";
import { describe, expect, test } from "vitest";
import type { DeviceSplit, Opportunity, PageOf, ViewId, Waiting } from "../../src/api.gen";
import type { Answer, Client } from "../../src/server/client";
import { TensorCores } from "../../src/views/tensor_cores/tensor_cores";
import { CHAIN, COMPARED, change, link } from "../fixtures/compared";
import { coresPage, DEVICE, rate, tab } from "../fixtures/figures";
import { HEAD, index, PAGE, ready, run, span } from "../fixtures/pages";
import { GONE, keys, openTab, press, says } from "./fake_server";

const PAIR = "view=compare&run=a&with=b/worker0/3";

const RUNS = index([run("a", [span(1), span(2)]), run("b", [span(3)]), run("c", [span(5)]), run("s", [span(6)])]);

function server(of: Partial<ReturnType<typeof says>> = {}) {
  return { ...says(), index: ready(RUNS), ...of };
}

const waterfall = () => screen.findByRole("slider", { name: /^Mean step/ });

const texts = (element: Element, query: string) => [...element.querySelectorAll(query)].map((each) => each.textContent);

const rowsOf = (table: HTMLElement) =>
  within(table)
    .getAllByRole("row")
    .slice(1)
    .map((row) => texts(row, "td").map((cell) => cell!.replace(/\s/g, " ")));

describe("two runs", () => {
  test("the headline is that of the comparison, and what is unfair stands above the figure", async () => {
    const requests = await openTab(PAIR, server());
    const head = await screen.findByRole("heading", { level: 1, name: "a is 1.43x faster than b." });
    expect(head.closest("section")!.querySelector("p")!.textContent).toBe("Data loading accounts for most of it.");
    const note = screen.getByText(/^1 step of .* is not compared\.$/);
    expect(head.compareDocumentPosition(note) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    expect(note.compareDocumentPosition(await waterfall()) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    expect(requests.log).toContain("compare id-3 id-1");
    const line = within(screen.getByRole("region", { name: "Comparison" }));
    expect(line.getByRole("note", { name: "Details" }).dataset.hint).toBe(
      "a less b, over all spans that are read: 2 and 2.",
    );
  });

  test("too few steps are said once, with how many to record in the hint", async () => {
    const { comparison, warnings } = COMPARED;
    const effect = { template: "Record at least 5.", values: {} };
    const few = { id: "few_steps", cause: { template: "One side has 1 step.", values: {} }, effect, more: null };
    const step = { ...comparison.step, low: null, high: null, distinguishable: null };
    const value = { ...COMPARED, comparison: { ...comparison, step }, warnings: [...warnings, few] };
    await openTab(PAIR, server({ compare: ready(value) }));
    const head = (await screen.findByRole("heading", { level: 1, name: "a is 1.43x faster than b." })).closest(
      "section",
    )!;
    expect(within(head).getByRole("note", { name: "Details" }).dataset.hint).toBe("Record at least 5.");
    expect(screen.queryByText("One side has 1 step.")).toBeNull();
    expect(screen.getByText(/^means of \d+.steps and \d+.steps$/)).toBeTruthy();
  });

  test("the parts lead from one mean step to the other; what did not change is not drawn", async () => {
    await openTab(PAIR, server());
    const picture = await waterfall();
    expect(picture.getAttribute("aria-label")).toBe(
      "Mean step: b 100.0 ms, a 70.0 ms. Kernel -5.0 ms, Data loading -28.0 ms, Other +3.0 ms.".replace(
        /(\d) /g,
        "$1\u00a0",
      ),
    );
    fireEvent.keyDown(picture, { key: "End" });
    expect(picture.getAttribute("aria-valuetext")).toContain("95 % interval -32.0 to -28.0");
    fireEvent.keyDown(picture, { key: "ArrowUp" });
    expect(picture.getAttribute("aria-valuetext")).toContain("Other, b 5.0");
    expect(screen.getByText(/1 row did not change/)).toBeTruthy();
  });

  test("as a table: base, candidate and change of every row sum to the step", async () => {
    await openTab(PAIR, server());
    const picture = (await waterfall()).closest<HTMLElement>(".picture")!;
    fireEvent.click(within(picture).getByRole("button", { name: /^Show as table/ }));
    fireEvent.click(within(picture).getByRole("menuitem", { name: "Show as table" }));
    const rows = rowsOf(within(picture).getByRole("grid"));
    expect(rows.map(([name]) => name)).toEqual(["Kernel", "Memcpy", "Data loading", "Other", "Step"]);
    for (const column of [1, 2, 3]) {
      const figures = rows.map((cells) => Number.parseFloat(cells[column]!));
      expect(figures.slice(0, -1).reduce((sum, figure) => sum + figure, 0)).toBe(figures.at(-1));
    }
  });

  test("figures that are no parts of the step stand beside each other, and a dash says why", async () => {
    await openTab(PAIR, server());
    const table = await screen.findByRole("grid", { name: "Figures of both runs" });
    expect(rowsOf(table)).toEqual([
      ["GPU utilization", "50.0 %", "75.0 %", "+25.0 points", "+20.0 to +30.0 points"],
      ["Starved launches", "–", "25.0 %", "–", "–"],
    ]);
    expect(table.innerHTML).toContain("This trace does not say how many blocks.");
  });

  test("figures that only one of the two has are no table of dashes", async () => {
    const alone = COMPARED.comparison.figures.slice(1);
    const found = { ...COMPARED, comparison: { ...COMPARED.comparison, figures: alone } };
    await openTab(PAIR, server({ compare: ready(found) }));
    await waterfall();
    expect(screen.queryByRole("grid", { name: "Figures of both runs" })).toBeNull();
  });

  test("is split otherwise on a press, which the address keeps", async () => {
    await openTab(PAIR, server());
    await waterfall();
    expect(within(screen.getByRole("group", { name: "Split the change by" })).getAllByRole("button")).toHaveLength(2);
    fireEvent.click(within(screen.getByRole("group", { name: "Split the change by" })).getByText("Kernel"));
    expect(keys().way).toBe("kernel");
    expect((await waterfall()).getAttribute("aria-label")).toContain("gemm tf32 +15.0");
    expect(screen.getByText(/3 kernels that changed less, idle time/)).toBeTruthy();
  });

  test.each([
    ["All 5", ["gemm fp32 → gemm tf32", "gemm fp32", "gemm fp32", "gemm fp32", "gemm fp32"]],
    ["Changed 2", ["gemm fp32 → gemm tf32", "gemm fp32"]],
    ["New 1", ["gemm fp32"]],
    ["Gone 1", ["gemm fp32"]],
    ["Replaced 1", ["gemm fp32 → gemm tf32"]],
  ])("of the kernels, %s", async (name, shown) => {
    await openTab(PAIR, server());
    await waterfall();
    press(name);
    expect(rowsOf(screen.getByRole("grid", { name: "Kernels by change" })).map(([kernel]) => kernel)).toEqual(shown);
  });

  test("where nothing changed, the tables are folded, and no choice is empty", async () => {
    const [table] = COMPARED.comparison.tables;
    const rows = table!.rows.map((row) => ({ ...row, status: "alike" as const }));
    const comparison = { ...COMPARED.comparison, tables: [{ ...table!, rows }] };
    await openTab(PAIR, server({ compare: ready({ ...COMPARED, comparison }) }));
    await waterfall();
    const fold = screen.getByText(/^More: what did not change, /).closest("details")!;
    expect(fold.open).toBe(false);
    expect(fold.querySelector("table[aria-label='Kernels by change']")).toBeTruthy();
    expect(screen.queryByRole("button", { name: /^Changed/ })).toBeNull();
  });

  test("a change within noise is faint, and its interval says so", async () => {
    await openTab(PAIR, server());
    await waterfall();
    const table = screen.getByRole("grid", { name: "Kernels by change" });
    const faint = table.querySelectorAll("[data-hint] > .faint");
    expect([...faint].map((each) => each.parentElement!.dataset.hint)).toEqual([
      expect.stringMatching(/no more than noise$/),
    ]);
  });

  test("blocking calls are another table on a press, which the address keeps", async () => {
    await openTab(PAIR, server());
    await waterfall();
    press("Blocking calls");
    expect(keys().table).toBe("blocking");
    const [row] = rowsOf(await screen.findByRole("grid", { name: "Blocking calls by change" }));
    expect(row!.slice(0, 3)).toEqual(["cudaMemcpy", "aten::item", "forward"]);
    expect(row!.at(-1)).toBe("gone");
  });

  test("says what was promised and what came of it, or that nothing was", async () => {
    const one = server();
    await openTab(PAIR, one);
    const table = await screen.findByRole("grid", { name: "Predicted and measured gains" });
    expect(rowsOf(table)).toEqual([
      ["More workers load the data", "35.0 ms", "28.0 ms", "26.0 to 30.0 ms", "Data loading"],
    ]);
    const text = table.closest("section")!.textContent!.replace(/\s/g, " ");
    expect(text).toContain(
      "Changed in a, as far as the traces show: More workers load the data; Fewer numbers are read back.",
    );
    expect(text).toContain("Data loading is 7.0 ms longer than predicted.");
  });

  test("waits for the one that is not read, and says why one cannot be", async () => {
    const problem = { problem: "The file ends early", file: "w.json", hint: "Record again." };
    const bad = index([run("a", [span(1)]), run("b", [span(3, "failed", { error: problem })])]);
    const requests = await openTab(PAIR, server({ index: ready(bad) }));
    expect(await screen.findByText(/The file ends early/)).toBeTruthy();
    expect(requests.log.filter((route) => route.startsWith("compare"))).toEqual([]);
  });
});

describe("experiments", () => {
  const columns = () => screen.findByRole("slider", { name: /^b 100/ });

  test("stand in order with what each gained; simulated ones apart", async () => {
    const links = [...CHAIN.links, link("t", "id-7", 60, { simulated: true, from_first: change(80, 60) })];
    await openTab("view=compare&run=a", server({ chain: ready({ links }) }));
    const chain = await columns();
    const lines = texts(chain, "text.halo").map((line) => line!.replace(/\s/g, " "));
    expect(lines).toEqual([
      ...["100.0 ms", "first"],
      ...["70.0 ms", "-30.0 ms", "-32.0 to -28.0 ms", "-30 % from first"],
      ...["69.0 ms", "-1.0 ms", "not distinguishable"],
    ]);
    expect(screen.getByRole("slider", { name: /^s 80/ })).toBeTruthy();
    expect(screen.getByRole("heading", { name: "Mean steps of simulated experiments" })).toBeTruthy();
  });

  test("the table that chooses two stands first, its choices beside the names, until two are chosen", async () => {
    const order = () => screen.getAllByRole("heading", { level: 2 }).map(({ textContent }) => textContent);
    await openTab("view=compare&run=a", server());
    await columns();
    expect(order()[0]).toBe("Which two are compared?");
    const table = screen.getByRole("grid", { name: "Experiments" });
    expect(
      within(table)
        .getAllByRole("columnheader")
        .slice(0, 5)
        .map(({ textContent }) => textContent),
    ).toEqual([...["Experiment", "Mean step", "Steps", "Base", "Candidate"]]);
    press("b as base");
    await waitFor(() => expect(order()[0]).not.toBe("Which two are compared?"));
  });

  test("a press compares one with the one before it, where nothing is compared yet", async () => {
    await openTab("view=compare&run=b", server());
    const chain = await columns();
    fireEvent.keyDown(chain, { key: "End" });
    fireEvent.keyDown(chain, { key: "Enter" });
    expect(keys()).toMatchObject({ run: "c", with: "a/worker0/1" });
  });

  test("a press on another keeps the base", async () => {
    await openTab(PAIR, server());
    fireEvent.keyDown(await columns(), { key: "End" });
    fireEvent.click(screen.getByRole("button", { name: "c as candidate" }));
    expect(keys()).toMatchObject({ run: "c", with: "b/worker0/3" });
    press("a as base");
    expect(keys()).toMatchObject({ run: "c", with: "a/worker0/1" });
  });

  test("are put in another order by keys, which the address keeps and a screen reader hears", async () => {
    const requests = await openTab("view=compare&run=a", server());
    const chain = await columns();
    fireEvent.keyDown(chain, { key: "Home" });
    fireEvent.keyDown(chain, { key: "ArrowRight", shiftKey: true });
    expect(keys().order).toEqual(["a", "b", "c", "s"]);
    expect(screen.getByText("b is at place 2 of 3.")).toBeTruthy();
    await waitFor(() => expect(requests.log).toContain("chain in a b c s"));
    press("Order as recorded");
    expect(keys().order).toBeUndefined();
  });

  test("are dragged to another place; a drag is no press", async () => {
    await openTab("view=compare&run=a", server());
    const chain = await columns();
    const [left, , right] = [...chain.querySelectorAll("g[transform]")].map((group) =>
      Number(/translate\(([\d.]+)/.exec(group.getAttribute("transform")!)![1]),
    );
    const at = (clientX: number) => ({ clientX, clientY: 100, button: 0, pointerId: 1 });
    fireEvent.pointerDown(chain, at(right!));
    fireEvent.pointerMove(chain, at(left! + 2));
    expect(chain.querySelector(".drag")).toBeTruthy();
    fireEvent.pointerUp(chain, at(left! + 2));
    fireEvent.click(chain, at(left! + 2));
    expect(keys()).toMatchObject({ run: "a", order: ["c", "b", "a", "s"] });
    expect(keys().with).toBeUndefined();
  });

  test("share an axis with those that do the same work, the chosen run's first; one alone has no picture", async () => {
    const links = [
      link("d", "id-8", 9_000, { work: 1 }),
      link("b", "id-3", 100, { work: 2 }),
      link("e", "id-9", 8_000, { work: 1, from_first: change(9_000, 8_000), from_previous: change(9_000, 8_000) }),
      link("a", "id-1", 70, { work: 2, from_first: change(100, 70), from_previous: change(100, 70) }),
      link("c", "id-5", 5, { work: 3 }),
    ];
    await openTab("view=compare&run=a", server({ chain: ready({ links }) }));
    await columns();
    expect(screen.getAllByRole("heading", { name: /^Mean steps/ }).map(({ textContent }) => textContent)).toEqual([
      "Mean steps since b",
      "Mean steps since d",
    ]);
    const pictures = screen.getAllByRole("slider").map((each) => each.getAttribute("aria-label"));
    expect(pictures.map((label) => label!.replace(/\s/g, " "))).toEqual([
      "b 100.0 ms, a 70.0 ms",
      "d 9 000 ms, e 8 000 ms",
    ]);
    expect(screen.getByRole("button", { name: "c as candidate" })).toBeTruthy();
  });

  test("where no two compute the same, none gained", async () => {
    const links = [link("b", "id-3", 100), link("c", "id-5", 5, { work: 1 })];
    await openTab("view=compare&run=b", server({ chain: ready({ links }) }));
    expect(await screen.findByText(/No two runs here compute the same/)).toBeTruthy();
    expect(screen.queryByRole("slider")).toBeNull();
  });

  test("of more runs than a reader tells apart, the newest and the chosen one are asked for, and said", async () => {
    const many = index(
      Array.from({ length: 14 }, (_, at) => run(`r${at}`, [span(at + 1, "ready", { recorded_ns: at })])),
    );
    const requests = await openTab("view=compare&run=r0", server({ index: ready(many) }));
    await columns();
    expect(requests.log).toContain(`chain r0 ${Array.from({ length: 11 }, (_, at) => `r${at + 3}`).join(" ")}`);
    expect(screen.getAllByText(/^12 of 14.runs$/)).toHaveLength(1);
    const hints = screen.getAllByRole("note", { name: "Details" }).map(({ dataset }) => dataset.hint);
    expect(hints.filter((hint) => hint?.includes("choose others in Trends"))).toHaveLength(1);
  });

  test("one run is nothing to compare", async () => {
    const alone = index([run("a", [span(1)])]);
    const chain = ready({ links: CHAIN.links.slice(1, 2) });
    await openTab("view=compare", server({ index: ready(alone), chain }));
    expect(await screen.findByText(/One run is read\. Change one thing/)).toBeTruthy();
  });

  test("the comparison stands without them", async () => {
    await openTab(PAIR, server({ chain: GONE }));
    expect(await waterfall()).toBeTruthy();
    await waitFor(() => expect(screen.getByText("The experiments could not be loaded.")).toBeTruthy());
  });
});

const VIEWS = ["overview", "data_loading", "tensor_cores", "gpu", "host", "timeline"] as const;

const MS = 1_000_000;

const TIMELINE = {
  ...PAGE,
  head: HEAD,
  result: { first_ns: 0, last_ns: 10 * MS, steps: [{ name: "5", start_ns: 0, end_ns: 10 * MS }] },
} as unknown as PageOf<"timeline">;

const bar = () => screen.findByRole("region", { name: "Comparison" });

describe("compare with", () => {
  test.each(VIEWS)("%s asks for both spans and names both", async (view) => {
    const server = says();
    server.views.timeline = ready(TIMELINE);
    const requests = await openTab(`view=${view}&run=a&span=2&with=b/worker0/3`, server);
    await waitFor(() =>
      expect(requests.log).toEqual(expect.arrayContaining([`view ${view} id-2`, `view ${view} id-3`])),
    );
    await waitFor(async () =>
      expect((await bar()).textContent).toContain("a (span 2) compared with b (span 3). First"),
    );
  });

  const AT_B = { problem: "TensorBoard answers with error 500", file: "", hint: "See its terminal." };
  test.each<[Answer<PageOf<ViewId>>, string, string | undefined]>([
    [{ kind: "waiting", value: {} as Waiting }, ": b is not read yet", undefined],
    [{ kind: "gone", value: AT_B }, ": b could not be loaded, so only a is shown", `${AT_B.problem}. ${AT_B.hint}`],
    [
      { kind: "problem", value: { ...AT_B, file: "b/w.json" } },
      ": b could not be analysed, so only a is shown",
      `${AT_B.problem}. ${AT_B.hint}`,
    ],
  ])("of which the other has no page says why", async (answer, words, hint) => {
    const view = async (id: string) => (id === "id-3" ? answer : ready(PAGE));
    await openTab("run=a&with=b/worker0/3", says(), { view: view as Client["view"] });
    await waitFor(async () => expect((await bar()).textContent).toContain(words));
    expect(within(await bar()).queryByRole("note")?.dataset.hint).toBe(hint);
  });

  test("swaps the two, and ends", async () => {
    await openTab("run=a&span=2&with=b/worker0/3");
    await bar();
    press("Swap");
    expect(keys()).toMatchObject({ run: "b", span: 3, with: "a/worker0/2" });
    await waitFor(async () => expect((await bar()).textContent).toContain("b (span 3) compared with a (span 2)"));
    press("End the comparison");
    expect(keys().with).toBeUndefined();
    expect(screen.queryByRole("region", { name: "Comparison" })).toBeNull();
  });

  test("says what makes two spans unlike, and each part of the difference", async () => {
    const server = says();
    server.views.overview = ready(PAGE);
    await openTab("run=a&span=2&with=b/worker0/3", server);
    const table = await screen.findByRole("grid", { name: /^Parts of the mean step of a against b/ });
    expect(within(table).getAllByRole("row").at(-1)!.textContent).toContain("Step");
    expect(screen.queryByText("These two are not alike.")).toBeNull();
  });

  test("the Timeline says why it draws one span, and leads to the same step of the other", async () => {
    const server = says();
    server.views.timeline = ready(TIMELINE);
    await openTab("view=timeline&run=a&span=2&with=b/worker0/3", server);
    press(await screen.findByRole("button", { name: /^Open step .* of b$/ }).then(({ textContent }) => textContent!));
    expect(keys()).toMatchObject({ view: "timeline", run: "b", span: 3, with: "a/worker0/2" });
  });
});

const OPPORTUNITY = DEVICE.opportunities[0]!;
const could = (ms: number): Opportunity => ({ ...OPPORTUNITY, total_ns: ms * MS });

const device = (steps: number, ms: number): DeviceSplit => ({
  ...DEVICE,
  steps: Array.from({ length: steps }, () => DEVICE.steps[0]!),
  opportunities: [could(ms)],
  rates: { rows: [rate(ms, 20)], best_tflops: {}, peak_tflops: {} },
});

test("40 ms of one step are 30 ms more than 20 ms of two", () => {
  const compared = { name: "b", own: "a", page: coresPage([device(2, 20)]) };
  render(<TensorCores page={coresPage([device(1, 40)])} tab={tab()} compared={compared} />);
  for (const label of ["Rates", "Opportunities"]) {
    const table = within(screen.getByRole("grid", { name: label }));
    expect(table.getByRole("columnheader", { name: /vs b/ })).toBeTruthy();
    expect(table.getByText("+30.0 ms")).toBeTruthy();
  }
});

describe("the table of experiments", () => {
  const names = async () => rowsOf(await screen.findByRole("grid", { name: "Experiments" })).map(([name]) => name);

  test("says of a run with several ranks whose figures it has", async () => {
    const ranks = [0, 1].map((rank) => ({ ...run("a", [span(rank + 1)]).workers[0]!, name: `host_${rank}`, rank }));
    const runs = index([{ ...run("a", []), workers: ranks }, run("b", [span(3)]), run("c", [span(5)])]);
    const links = CHAIN.links.slice(0, 3).map((each) => ({ ...each, of: { ...each.of, worker: "host_0" } }));
    await openTab("view=compare", server({ index: ready(runs), chain: ready({ links }) }));
    expect(await names()).toEqual(["b", "a, rank 0", "c"]);
  });

  test("is there where the comparison itself did not come, and stays where the next answer does not", async () => {
    const says = server({ compare: GONE });
    const requests = await openTab(PAIR, says);
    expect(await names()).toEqual(["b", "a", "c", "s (simulated)"]);
    says.chain = GONE;
    says.index = ready({ ...RUNS, version: "2", spans_ready: RUNS.spans_ready - 1 });
    const chains = () => requests.log.filter((route) => route.startsWith("chain")).length;
    await waitFor(() => expect(chains()).toBeGreaterThan(1), { timeout: 20_000 });
    expect(await names()).toEqual(["b", "a", "c", "s (simulated)"]);
  }, 30_000);
});
