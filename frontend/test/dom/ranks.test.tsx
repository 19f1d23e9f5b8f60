import { cleanup, fireEvent, screen, waitFor, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { RankMap } from "../../src/api.gen";
import type { Answer } from "../../src/server/client";
import { because, index, plain, ready, run } from "../fixtures/pages";
import { CAUSED, JOB, rankMap, ranksPage, WORKERS } from "../fixtures/ranks";
import { keys, openTab, press, rowsOf, says, valueText } from "./fake_server";

const OPEN = "view=ranks&run=a&worker=rank0";

const RUNS = index([{ ...run("a", []), workers: WORKERS }]);

const BUSY = rankMap("gpu_utilization", [
  [0.9, 0.8, 0.9],
  [0.5, 0.4, null],
  [0.7, 0.7, 0.7],
]);

const mapOf = (metric: string): Answer<RankMap> => ready(metric === "rank_caused_ns" ? CAUSED : BUSY);

const server = (page = ranksPage(), rankMapOf = mapOf) => ({
  ...says(),
  index: ready(RUNS),
  ranks: ready(page),
  rankMap: rankMapOf,
});

const picture = () => screen.findByRole("slider");

test("it opens with who makes the others wait, and says it of each cell", async () => {
  const requests = await openTab(OPEN, server());
  await screen.findByRole("heading", { level: 1, name: "Rank 1 makes the others wait." });
  const map = await picture();
  expect(requests.log).toContain("rank_map rank_caused_ns");
  expect(screen.getByRole("heading", { name: "Which rank makes the others wait?" })).toBeTruthy();
  fireEvent.keyDown(map, { key: "ArrowRight" });
  expect(valueText(map)).toBe("rank 0, step 9, Makes others wait not recorded");
  fireEvent.keyDown(map, { key: "ArrowDown" });
  fireEvent.keyDown(map, { key: "End" });
  expect(valueText(map)).toBe("rank 1, step 11, Makes others wait 42.0 ms");
  fireEvent.keyDown(map, { key: "ArrowDown" });
  fireEvent.keyDown(map, { key: "ArrowDown" });
  expect(valueText(map)).toContain("rank 2, step 11");
  expect(screen.getByText("not matched")).toBeTruthy();
});

test("why the tokens of experts are not known stands below the table of ranks", async () => {
  await openTab(OPEN, server(ranksPage({ experts: [plain("The tokens are not known."), plain("Record shapes.")] })));
  const table = await screen.findByRole("grid", { name: "Waits by rank" });
  for (const sentence of ["The tokens are not known.", "Record shapes."]) {
    expect(table.closest("section")!.contains(screen.getByText(sentence))).toBe(true);
  }
});

test("the busiest expert has a column where a rank computes experts", async () => {
  const experts = { rows: [90, 20, 10, 8], busiest: 2.8125, chosen: 2, loops: 3, share: 0.2 };
  const ranks = JOB.ranks.map((rank) => (rank.rank === 0 ? { ...rank, experts } : rank));
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, ranks } })));
  await screen.findByRole("grid", { name: "Waits by rank" });
  // Rank 1 stands first.
  expect(rowsOf("Waits by rank").map((row) => row.includes("2.81"))).toEqual([false, true, false]);
});

test("of a single step the map says no more than the table, and is folded", async () => {
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, steps: JOB.steps.slice(0, 1) } })));
  const fold = (await screen.findByText("More: any figure by rank")).closest("details")!;
  expect(fold.open).toBe(false);
  expect(fold.textContent).toContain("Which rank makes the others wait?");
});

test("Space chooses the rank and the step for all views, Enter opens the step of that rank", async () => {
  await openTab(OPEN, server());
  const map = await picture();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", " "]) fireEvent.keyDown(map, { key });
  expect(keys()).toMatchObject({ view: "ranks", worker: "rank1", step: "10" });
  const requests = await picture();
  fireEvent.keyDown(requests, { key: "Enter" });
  expect(keys()).toMatchObject({ view: "timeline", worker: "rank1", step: "10" });
});

test("another rank of the job needs no other answer", async () => {
  const requests = await openTab(OPEN, server());
  const map = await picture();
  for (const key of ["ArrowDown", "ArrowDown", " "]) fireEvent.keyDown(map, { key });
  await waitFor(() => expect(keys().worker).toBe("rank1"));
  expect(requests.log.filter((route) => route.startsWith("ranks"))).toEqual(["ranks id-1"]);
});

test("rows are sorted by what they are worst in: of a figure of which more is better, the least first", async () => {
  await openTab(`${OPEN}&metric=gpu_utilization`, server());
  const map = await picture();
  press("Value");
  fireEvent.keyDown(map, { key: "ArrowRight" });
  expect(valueText(map)).toBe("rank 1, step 9, GPU utilization 50.0 %");
  press("Delay");
  expect(keys().order_ranks).toBe("waits");
});

test("a figure that no rank measures says why, in place of the picture", async () => {
  const none = rankMap("gpu_utilization", [], { spans: [], steps: [], reason: because("no_gpu_activity") });
  await openTab(
    `${OPEN}&metric=gpu_utilization`,
    server(ranksPage(), () => ready(none)),
  );
  await screen.findByText("This trace has no GPU activity.");
  expect(screen.queryByRole("slider")).toBeNull();
});

test("the waits of each rank, the one that others wait for first", async () => {
  await openTab(OPEN, server());
  await picture();
  expect(rowsOf("Waits by rank")).toEqual([
    "rank 1|200.0 ms|200.0 ms|0 ms||40.0 ms||90.0 %|it waits longer for its batches",
    "rank 0|200.0 ms|160.0 ms|40.0 ms||0 ms||5.0 %|–",
    "rank 2|198.0 ms|158.0 ms|40.0 ms||0 ms||5.0 %|–",
  ]);
  fireEvent.click(screen.getByRole("button", { name: "rank 2" }));
  expect(keys()).toMatchObject({ view: "overview", worker: "rank2" });
});

test("ranks that share experts show the tokens that each receives a step", async () => {
  const received = [2_000, 8_000, null];
  const ranks = JOB.ranks.map((rank, at) => ({ ...rank, tokens_received: received[at]! }));
  const tokens = [
    { group: "0", ranks: [0, 1], hidden: 256, steps: 2, calls: 4, sent: [5_000, 5_000], received: [2_000, 8_000] },
  ];
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, ranks, tokens } })));
  await picture();
  expect(rowsOf("Waits by rank").map((row) => row.split("|").at(-2)!.replace(/\s/g, " "))).toEqual([
    "4 000",
    "1 000",
    "–",
  ]);
});

test("ranks that take turns have no why of their own: it is that of the late rank of each step", async () => {
  const job = { ...JOB, balance: "imbalance" as const };
  const turns = [plain("it computes 6.8 ms a step longer"), plain("its CPU launches work 1.0 ms a step later")];
  await openTab(OPEN, server(ranksPage({ job, turns })));
  await picture();
  expect(rowsOf("Waits by rank")[0]).toBe("rank 1|200.0 ms|200.0 ms|0 ms||40.0 ms||90.0 %");
  expect(screen.getByText(/^The late rank of each step/).textContent!.replace(/\s+/g, " ")).toBe(
    "The late rank of each step, compared with the others in it: it computes 6.8 ms a step longer; " +
      "its CPU launches work 1.0 ms a step later.",
  );
});

test("sends and receives are a table of their own, a step and rank", async () => {
  const sent = { group: "1", bytes: 8_000_000, ranks: 2, steps: 2, count: 8, running_ns: 80e6 };
  const messages = [{ ...sent, exposed_ns: 60e6, hidden_ns: 20e6 }];
  const waits = { transfer_ns: 20e6, sender_wait_ns: 0, receiver_wait_ns: 40e6, exposed_ns: 60e6 };
  const pairs = [{ group: "1", source: 0, target: 1, bytes: 8_000_000, steps: 2, count: 4, ...waits }];
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, messages, pairs } })));
  await picture();
  expect(rowsOf("Sends and receives")).toEqual(["8.0 MB|2|2|20.0 ms|75.0 %"]);
  expect(rowsOf("Sends with their receives")).toEqual(["rank 0 to rank 1|8.0 MB|2|10.0 ms|0 ms|20.0 ms"]);
});

test("a collective opens to its sizes and their bandwidth", async () => {
  await openTab(OPEN, server());
  await picture();
  expect(rowsOf("Collectives of the job")).toEqual([
    "all-reduce, Float|gradients (DDP)|3|1.0 MB – 26 MB|3|11.0 ms|20.0 ms||48.4 %|5.20 GB/s|6.90 GB/s",
    "all-gather|not known|3|–|2|10.0 ms|20.0 ms||50.0 %|5.20 GB/s|–",
  ]);
  fireEvent.click(screen.getByText("all-reduce, Float"));
  expect(rowsOf("Sizes of all-reduce")).toEqual([
    "26 MB|2|10.0 ms|20.0 ms|6.90 GB/s",
    "1.0 MB|1|1.0 ms|0 ms|1.00 GB/s",
  ]);
  const bandwidth = screen.getByRole("img", { name: /^Bus bandwidth of all-reduce/ });
  expect(bandwidth.getAttribute("aria-label")).toMatch(/26.MB 6.90.GB\/s, 1.0.MB 1.00.GB\/s$/);
});

test("bandwidth stands beside the link's peak where that is told", async () => {
  const [first, ...others] = JOB.collectives;
  const told = { ...first!, of_peak: 0.138 };
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, collectives: [told, ...others] } })));
  await picture();
  expect(rowsOf("Collectives of the job").map((row) => row.split("|").slice(-2))).toEqual([
    ["6.90 GB/s", "13.8 %"],
    ["–", "–"],
  ]);
});

test("groups of one name and other ranks have rows of their own", async () => {
  const first = { ...JOB.collectives[0]!, ranks: 2, members: [0, 1] };
  const collectives = [first, { ...first, members: [2, 3], transfer_ns: 2 * first.transfer_ns }];
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, collectives } })));
  await picture();
  expect(rowsOf("Collectives of the job").map((row) => row.split("|")[5])).toEqual(["30.0 ms", "15.0 ms"]);
  const hints = [...document.querySelectorAll("[data-hint^='Process group']")].map((each) =>
    each.getAttribute("data-hint")!.replace(/\s/g, " "),
  );
  expect(hints).toEqual(["Process group 0, 2 ranks (ranks 2, 3).", "Process group 0, 2 ranks (ranks 0, 1)."]);
});

test("of parameters that FSDP gathers it says how much prefetching hides", async () => {
  const gathered = { ...JOB.collectives[0]!, kind: "all_gather", role: "fsdp" as const, prefetched: 0.85 };
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, collectives: [gathered] } })));
  await picture();
  const role = document.querySelector("[data-hint^='Process group']");
  expect(role!.getAttribute("data-hint")).toMatch(/Prefetching hides 85.0.% of their time\.$/);
});

test("while ranks are read it says how many are, and shows those", async () => {
  await openTab(OPEN, server(ranksPage({ read: 3, found: 8 })));
  await picture();
  expect(screen.getByText(/^3 of 8.ranks are read\./)).toBeTruthy();
});

test("one rank: why there is nothing to compare, and how to record all", async () => {
  const headline = { ...ranksPage().headline, verdict: plain("One of 8 ranks was recorded here.") };
  await openTab(OPEN, server(ranksPage({ headline, job: null, caused_ns: [], spans: ["id-1"], read: 1, found: 1 })));
  await screen.findByRole("heading", { level: 1, name: "One of 8 ranks was recorded here." });
  expect(screen.getByText(/worker_name=/)).toBeTruthy();
  expect(screen.queryByRole("slider")).toBeNull();
});

test("where nothing is matched, step times stand alone", async () => {
  const job = {
    ...JOB,
    matched_steps: 0,
    unmatched: because("no_collective"),
    balance: null,
    late: [],
    collectives: [],
    ranks: JOB.ranks.map((rank) => ({ ...rank, matched: 0, last: 0, wait_ns: 0, exposed_wait_ns: 0, caused_ns: 0 })),
  };
  const times = rankMap("step_time", [
    [200e6, 200e6, 200e6],
    [200e6, 200e6, 200e6],
    [198e6, 198e6, 198e6],
  ]);
  const requests = await openTab(
    OPEN,
    server(ranksPage({ job, caused_ns: [], causes: [] }), () => ready(times)),
  );
  await picture();
  expect(requests.log).toContain("rank_map step_time");
  expect(rowsOf("Waits by rank")).toEqual(["rank 0|200.0 ms", "rank 1|200.0 ms", "rank 2|198.0 ms"]);
  expect(screen.queryByRole("grid", { name: "Collectives of the job" })).toBeNull();
});

test("predictions stand after the replay: changes, then more ranks, and why no more are known", async () => {
  const gain = { ranks: [1], gain_ns: 40, usual_gain_ns: 40 };
  const what_if = {
    rank_count: 2,
    steps: 2,
    recorded_step_ns: 100,
    replayed_step_ns: 100,
    unexplained: 0,
    trusted: true,
    by_device: true,
    later_step_ns: 100_000_000,
    changes: [{ id: "late_ranks" as const, step_ns: 60, ...gain }],
    larger: [{ ranks: 6, step_ns: 110, efficiency: 0.9 }],
    larger_reason: null,
  };
  const words = {
    replay: plain("The replay takes 100."),
    changes: [plain("A step takes 60.")],
    larger: [plain("6 ranks take 110.")],
    remark: plain("Nothing is known of more."),
  };
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, what_if }, what_if: words })));
  await picture();
  expect(rowsOf("Predictions for the job")).toEqual([
    "The replay takes 100.|100 ns",
    "A step takes 60.|60 ns",
    "6 ranks take 110.|110 ns",
  ]);
  const predictions = screen.getByRole("heading", { name: "What a step could take" }).closest("section")!;
  expect(within(predictions).getByRole("note", { name: "Details" }).dataset.hint).toBe("Nothing is known of more.");
});

test("why the ranks cannot be replayed together is said once", async () => {
  const because = (code: string) => ({ code, values: {} });
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, what_if_reason: because("one_sided") } })));
  await picture();
  const place = () => screen.queryByRole("heading", { name: "What a step could take" })?.closest("section");
  expect(within(place()!).getByRole("note", { name: "Details" }).dataset.hint).toBe("one_sided");
  cleanup();
  const none = because("no_matched_collectives");
  await openTab(OPEN, server(ranksPage({ job: { ...JOB, what_if_reason: none, unmatched: none } })));
  await screen.findByRole("heading", { level: 1 });
  expect(place()).toBeUndefined();
});

test("the filter of collectives is in the address, and is cleared where nothing matches", async () => {
  const collectives = Array.from({ length: 7 }, (_, at) => ({ ...JOB.collectives[0]!, group: String(at) }));
  await openTab(`${OPEN}&exchanged=nccl`, server(ranksPage({ job: { ...JOB, collectives } })));
  const table = await screen.findByRole("grid", { name: "Collectives of the job" });
  expect(table.textContent).toContain("No collective matches nccl.");
  fireEvent.click(within(table).getByRole("button", { name: "Clear" }));
  await waitFor(() => expect(rowsOf("Collectives of the job")).toHaveLength(7));
  expect(keys()).not.toHaveProperty("exchanged");
});
