import { act, cleanup, fireEvent, screen, waitFor, within } from "@testing-library/preact";
import { describe, expect, test } from "vitest";
import type { Catalogue, JobSteps, StepBin } from "../../src/api.gen";
import { trendSpan, trendsPage } from "../fixtures/figures";
import { index, PAGE, ready, run, span } from "../fixtures/pages";
import { keys, openTab, press, says } from "./fake_server";

/** This many runs, each a little slower than the one before. */
function many(count: number) {
  const server = says();
  const names = Array.from({ length: count }, (_, at) => `jobs/run_${at}_v100`);
  server.index = ready(index(names.map((name, at) => run(name, [span(at + 1)]))));
  const spans = names.map((name, at) => trendSpan({ run: name, number: 1, first: 5, ms: [100 + at, 102 + at] }));
  server.trends = ready(trendsPage(spans));
  return server;
}
const legend = () => screen.findByRole("list", { name: "Runs" });
const picture = async () => (await screen.findAllByRole("slider"))[0]!;
const lines = (svg: Element) => svg.querySelectorAll("path.line").length;

describe("trends of many runs", () => {
  test("twelve are drawn one by one, and only the legend names them", async () => {
    await openTab("view=trends", many(12));
    expect(within(await legend()).getAllByRole("listitem")).toHaveLength(12);
    expect(lines(await picture())).toBe(12);
    expect((await picture()).textContent).not.toContain("run_");
  });

  test("a run far above the others leaves the axis to them until the whole axis is wanted", async () => {
    const server = many(3);
    const long = trendSpan({ run: "jobs/run_1_v100", number: 1, first: 5, ms: [12_000, 12_100] });
    const page = server.trends as { value: ReturnType<typeof trendsPage> };
    server.trends = ready({
      ...page.value,
      spans: page.value.spans.map((each) => (each.run === long.run ? long : each)),
    });
    await openTab("view=trends", server);
    await legend();
    const shownText = async () => [...(await picture()).querySelectorAll("text")].map(({ textContent }) => textContent);
    expect(await shownText()).toContain("2\u00a0values above the axis (run_1): 12.0\u00a0s to 12.1\u00a0s");
    press("Whole axis");
    expect((await shownText()).join()).not.toContain("above");
    expect(keys()).toMatchObject({ axis: "all" });
    press("Whole axis");
    expect(keys()).not.toHaveProperty("axis");
  });

  test("a run that is shown alone has the labels of its devices, and beside others none of its own", async () => {
    const labels = async (runs: number) => {
      const server = many(runs);
      const { value } = server.catalogue as { value: Catalogue };
      server.catalogue = ready({ ...value, amd_labels: { step_time: "AMD's step", gpu: "AMD's GPU" } });
      const job = { ...PAGE.head.job, vendor: "amd" };
      server.views = { ...server.views, overview: ready({ ...PAGE, head: { ...PAGE.head, job, id: span(1).id } }) };
      await openTab("view=trends&run=jobs%2Frun_0_v100&among=all", server);
      const metric = await screen.findByRole("group", { name: "Metric" });
      return () => within(metric).queryByText("AMD's step") !== null;
    };
    const alone = await labels(1);
    await waitFor(() => expect(alone()).toBe(true));
    cleanup();
    const together = await labels(3);
    await waitFor(() => expect(screen.getByRole("link", { name: /AMD/ })).toBeTruthy()); // the list of views
    expect(together()).toBe(false);
  });

  test("a strip far longer than the others goes on beyond their axis, and says to where", async () => {
    const server = many(3);
    const page = (server.trends as { value: ReturnType<typeof trendsPage> }).value;
    const [first, ...others] = page.spans;
    const [binned] = first!.result!.time_bins;
    const long = {
      ...first!,
      result: { ...first!.result!, time_bins: [{ ...binned!, bin_ns: 500 * binned!.bin_ns }] },
    };
    server.trends = ready({ ...page, spans: [long, ...others] });
    await openTab("view=trends", server);
    const strips = await screen.findByRole("grid", { name: /over time/ });
    const beyond = () => [...strips.querySelectorAll("text.halo")].map(({ textContent }) => textContent);
    expect(beyond().filter(Boolean)).toEqual(["to 15.0\u00a0s"]);
    fireEvent.click(screen.getAllByRole("button", { name: "Whole axis" }).at(-1)!);
    expect(beyond().filter(Boolean)).toEqual([]);
  });

  test("the legend hides a run and draws it again; the one in focus stays", async () => {
    await openTab("view=trends", many(3));
    await legend();
    const draws = () =>
      within(screen.getByRole("list", { name: "Runs" }))
        .getAllByRole("button", { name: /^Draw/ })
        .map((button) => [button.getAttribute("aria-label"), button.getAttribute("aria-pressed")]);
    expect(draws()).toEqual([
      ["Draw run_0", "true"],
      ["Draw run_1", "true"],
    ]);
    expect(lines(await picture())).toBe(3);
    press("Draw run_0");
    expect(draws()[0]).toEqual(["Draw run_0", "false"]);
    expect(lines(await picture())).toBe(2);
    press("Draw run_0");
    expect(lines(await picture())).toBe(3);
  });

  test("more stand as median and band, with those that stand out named; a search draws some", async () => {
    await openTab("view=trends&run=jobs/run_3_v100&with=jobs/run_8_v100/worker0/9", many(30));
    const rows = within(await legend()).getAllByRole("listitem");
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      "run_3, in focus",
      "run_8, compared with",
      "run_27",
      "run_28",
      "run_29",
      "25\u00a0other runs: median, and the band that holds 80 % of them",
    ]);
    expect(screen.getByText(/^Highest/).parentElement!.textContent).toContain("run_29");
    fireEvent.input(screen.getByRole("searchbox", { name: /Search runs to draw/ }), { target: { value: "run_12" } });
    expect(within(await legend()).getAllByRole("listitem")).toHaveLength(4);
    press("run_12");
    expect(keys().run).toBe("jobs/run_12_v100");
  });

  test("the run that the pointer is nearest to stands alone, and only marks are drawn while it moves", async () => {
    await openTab("view=trends", many(30));
    const svg = await picture();
    const before = [...svg.querySelectorAll("path.line")];
    fireEvent.pointerMove(svg, { clientX: 60, clientY: 20 });
    await waitFor(() => expect(svg.querySelector(".isolated")).not.toBeNull());
    expect(screen.getAllByText("run_26").length).toBeGreaterThan(0);
    expect(before.every((path) => svg.contains(path))).toBe(true);
    fireEvent.pointerLeave(svg);
    await waitFor(() => expect(svg.querySelector(".isolated")).toBeNull());
    expect(lines(svg)).toBe(before.length);
  });

  test("one run of many workers is their median; the worst are drawn, and one that is pressed is chosen", async () => {
    const server = says();
    const workers = Array.from({ length: 20 }, (_, at) => `w${at}`);
    const spans = workers.map((worker, at) =>
      trendSpan({ run: "job", worker, number: 1, first: 5, ms: [100 + at, 90] }),
    );
    server.index = ready(index([run("job", [span(1)])]));
    server.trends = ready(trendsPage(spans));
    await openTab("view=trends", server);
    const rows = within(await screen.findByRole("list", { name: "Workers" })).getAllByRole("listitem");
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      "job: median of 20 workers, band of 80 %",
      "w17",
      "w18",
      "w19",
      "17\u00a0other workers: point at the picture, or search",
    ]);
    fireEvent.click(within(screen.getByRole("list", { name: "Workers" })).getByRole("button", { name: "w18" }));
    expect(keys().worker).toBe("w18");
  });

  test("one span opens over its steps, however many they are", async () => {
    const server = says();
    server.index = ready(index([run("job", [span(1)])]));
    server.trends = ready(trendsPage([trendSpan({ run: "job", number: 1, first: 0, ms: new Array(700).fill(0.02) })]));
    await openTab("view=trends", server);
    const over = within(await screen.findByRole("group", { name: "Over" }));
    expect(over.getByRole("button", { pressed: true }).textContent).toBe("Steps");
    const strip = await screen.findByRole("grid", { name: /over time/ });
    expect(strip.querySelectorAll("line.tick")).toHaveLength(0); // they would cover it
  });

  test("of one step there is nothing to draw: its figures are in the titles", async () => {
    const server = says();
    server.index = ready(index([run("job", [span(1)])]));
    server.trends = ready(trendsPage([trendSpan({ run: "job", number: 1, first: 4, ms: [100] })]));
    await openTab("view=trends", server);
    expect(await screen.findByRole("grid", { name: /over time/ })).toBeTruthy();
    expect(screen.queryAllByRole("slider")).toEqual([]);
    expect(document.body.textContent).not.toMatch(/slow step/i);
  });

  test("many workers open over spans, where their band is seen; slow steps name their span", async () => {
    const server = says();
    const spans = Array.from({ length: 26 }, (_, at) => {
      const [worker, number] = [`w${at >> 1}`, 1 + (at & 1)];
      return trendSpan({
        run: "job",
        worker,
        number,
        first: 0,
        ms: new Array(80).fill(100),
        slow: at < 2 ? ["3"] : [],
      });
    });
    server.index = ready(index([run("job", [span(1)])]));
    server.trends = ready(trendsPage(spans));
    await openTab("view=trends", server);
    const over = within(await screen.findByRole("group", { name: "Over" }));
    expect(over.getByRole("button", { pressed: true }).textContent).toBe("Spans");
    for (const where of ["3 span 1, w0", "3 span 2, w0"]) expect(document.body.textContent).toContain(where);
    fireEvent.click(over.getByRole("button", { name: "Steps" }));
    expect(keys().over).toBe("steps");
  });

  test("a metric that the page left out is asked for once, when it is chosen", async () => {
    const server = many(30);
    const ids = server.trends.kind === "ready" ? server.trends.value.spans.map(({ id }) => id) : [];
    server.series = () =>
      ready({
        metric: "est_sm_efficiency",
        spans: ids,
        values: ids.map((_, at) => at / 100),
        steps: ids.map((_, at) => [at / 100, at / 100]),
        reasons: {},
      });
    const requests = await openTab("view=trends&metric=est_sm_efficiency", server);
    const highest = async () => (await screen.findByText(/^Highest/)).parentElement!.textContent;
    await waitFor(async () => expect(await highest()).toContain("Highest Est. SM efficiency: run_29 29.0"));
    const chip = (name: string) => within(screen.getByRole("group", { name: "Metric" })).getByRole("button", { name });
    fireEvent.click(chip("Step time"));
    expect(await highest()).toContain("Highest Step time: run_29");
    server.series = () => ({ kind: "gone", value: { problem: "", file: "", hint: "" } });
    act(() => window.location.replace("#tb_steptime&p.tb_steptime.view=trends&p.tb_steptime.metric=est_sm_efficiency"));
    await waitFor(async () => expect(await highest()).toContain("Highest Est. SM efficiency"));
    expect(requests.log.filter((route) => route.startsWith("series"))).toEqual(["series est_sm_efficiency"]);
  });

  test("a metric whose series do not come is named, with the reason, and the previous one stays", async () => {
    await openTab("view=trends&metric=est_sm_efficiency", many(30)); // the server has no answer
    const note = (await screen.findByText(/^Est. SM efficiency /)).parentElement!;
    expect(note.textContent).toContain("TensorBoard does not answer.");
    expect((await screen.findByText(/^Highest/)).parentElement!.textContent).toContain("Highest Step time");
  });

  test("the strips of the run in focus come first", async () => {
    await openTab("view=trends&run=jobs/run_20_v100", many(30));
    await legend();
    const named = document.querySelector(".heatmap")!.getAttribute("aria-label");
    expect(named).toMatch(/span: run_20 span 1/);
  });

  test("a scalar of the job is a line with an axis of its own, kept in the address", async () => {
    const server = many(2);
    const loss = { source: "jobs/run_1_v100", tag: "loss", steps: [5, 6], wall_ns: [1, 2], values: [2, 1] };
    server.scalars = (tag) => ready({ tags: ["loss", "lr"], series: tag ? [loss] : [] });
    const requests = await openTab("view=trends", server);
    await screen.findByRole("button", { name: "Add a scalar…" });
    press("Add a scalar…");
    press("loss");
    expect(keys().scalar).toBe("loss");
    await waitFor(() => expect(requests.log).toContain("scalars loss"));
    await act(async () => {});
    expect((await picture()).querySelector(".overlay")!.textContent).toContain("loss");
  });
});

const MS = 1e6;

const bin = (step: number, steps: number, mean_ms: number, longest_ms = mean_ms): StepBin => ({
  step,
  steps,
  end_ns: step * 1e9,
  mean_ns: mean_ms * MS,
  longest_ns: longest_ms * MS,
  wait_ns: null,
  collecting_ns: 0,
  rss_bytes: null,
  recorded: step === 40,
});

const TIMED: JobSteps = {
  workers: [
    {
      worker: "w",
      steps: 48_300,
      bins: [bin(0, 40, 100), bin(40, 10, 131), bin(50, 48_163, 100), bin(48_213, 1, 2_100), bin(48_214, 86, 100)],
      slow: [{ step: 48_213, end_ns: 1, duration_ns: 2_100 * MS, wait_ns: null, collecting_ns: 1_900 * MS }],
      pace: { recorded_ns: 131 * MS, recorded: 10, plain_ns: 100 * MS, plain: 400, differ: true, plain_p1_ns: 98 * MS },
    },
  ],
  more: 0,
};

function timed(steps: JobSteps) {
  const server = says();
  server.trends = ready(trendsPage([trendSpan({ run: "a", number: 1, first: 5, ms: [100, 110] })]));
  server.jobSteps = () => ready(steps);
  return server;
}

describe("every step of the job", () => {
  test("is drawn with its slow steps and what profiling costs", async () => {
    await openTab("view=trends", timed(TIMED));
    const picture = await screen.findByRole("slider", { name: /All 48.300.steps/ });
    expect(picture.querySelectorAll("circle.ring").length).toBeGreaterThan(0);
    const frame = picture.closest("figure, section, .picture") as HTMLElement;
    expect(within(frame).getByText(/profiled steps take 1.31 x as long/).textContent).toMatch(/1.slow step, ringed/);
  });

  test("is no picture where nothing was timed", async () => {
    await openTab("view=trends", timed({ workers: [], more: 0 }));
    await screen.findAllByRole("slider");
    expect(screen.queryByRole("slider", { name: /steps of the job/ })).toBeNull();
  });
});
