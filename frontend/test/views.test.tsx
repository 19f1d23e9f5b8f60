import { renderToString } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import type { NoteText, PageOf, Phrase } from "../src/api.gen";
import { sparkRuns } from "../src/components/tile";
import { readState } from "../src/frame/bar";
import { Top } from "../src/frame/top";
import { Empty, Failed, Reading } from "../src/states/states";
import { Overview } from "../src/views/overview/overview";
import type { Compared } from "../src/views/props";
import { all } from "./fixtures/all";
import { HEAD, index, OVERVIEW, PAGE, plain, run, series, span, TAB } from "./fixtures/pages";
import { detailsOf, hintsOf, htmlOf, words } from "./fixtures/words";

type OverviewPage = PageOf<"overview">;
const overview = (more: Partial<OverviewPage> = {}, tab = TAB, compared: Compared<"overview"> | null = null) => (
  <Overview page={{ ...PAGE, ...more }} tab={tab} compared={compared} />
);

describe("the Overview", () => {
  const page = words(overview());

  test("says what the step is spent on, in the order of the catalogue", () => {
    expect(page).toContain(
      "|GPU works |100.0 ms|, 63 %|GPU waits |60.0 ms|, 38 %|Kernel 98.0|Memcpy 2.0|Data loading 60.0|" +
        "Could be |118 ms|26 % less|",
    );
    const could = htmlOf(overview()).split('class="stack thin"')[1]!;
    expect(could.match(/(?<=data-hint=")[^"]*/g)!.slice(0, 3)).toEqual([
      "Kernel 98.0 ms, 83 %. What Kernel means.",
      "Memcpy 2.0 ms, 1.7 %. What Memcpy means.",
      "Data loading 18.0 ms, 15 %. What Data loading means.",
    ]);
    expect(page).toContain("|Kernel|98.0 ms|61.3 %|Memcpy|2.0 ms|1.3 %|Data loading|60.0 ms|37.5 %|");
  });

  test("tiles show the change since the span before, and remarks; what is unknown has its reason below them", () => {
    expect(page).toContain(
      "|Step time|160.0|ms|-22.7 ms since span 1|Exposed data loading|60.0|ms|all of it|1 figure without values|",
    );
    expect(detailsOf(overview())).toContain("GPU utilization. This trace has no GPU activity.");
  });

  test("of many cards the first four are in sight at first", () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ ...PAGE.insights[0]!, id: `card${at}` }));
    const shown = (count: number) => words(overview({ insights: many(count) }));
    expect(shown(8)).toContain("|Show all 8|");
    expect(shown(5)).not.toContain("Show all");
  });

  test("cards keep the order that they come in, and say what waits for something else", () => {
    expect(page).toContain(
      "|up to |60.0 ms|38 % of the step|Load batches in worker processes|Major|, confidence high|" +
        "Two workers hide the wait. |See Data loading|num_workers=2|Copy|",
    );
    expect(page).toContain("|then up to |58.0 ms|Then use the tensor cores|");
  });

  test("a card that saves no time says what it gives in place of a gain", () => {
    const [first] = PAGE.insights;
    const cards = [plain("less memory"), null].map((instead) => ({ ...first!, gain_ns: 0, gain_fraction: 0, instead }));
    const page = words(overview({ insights: cards }));
    expect(page).toContain("|less memory|Load batches in worker processes|");
    expect(page).toContain("|no gain now|Load batches in worker processes|");
  });

  test("what ranks exchange is listed where they do", () => {
    const row = { kind: "all_reduce", label: "all-reduce", group: "0", ranks: 8, dtype: "Float", count: 5 };
    const known = { ...row, bytes: 102e6, best_rate: 13e9, running_ns: 15e6, exposed_ns: 13e6, wait_ns: 2e6 };
    const unknown = { ...known, label: "broadcast", group: null, ranks: null, dtype: null, bytes: null, wait_ns: 0 };
    const rest = {
      longest_ns: 15e6,
      compute_stream_ns: 0,
      forward_ns: 0,
      in_a_row: null,
      ...all(0, "early_ns norms_ns buffers_ns nodes_ns"),
      in_backward: null,
      last: null,
    };
    const lengths = {
      ...all(0, "running_ns exposed_ns left_out_ns computing_ns free_compute_ns"),
      free_backward_ns: null,
      before_gradients_ns: 0,
    };
    const waits = { wait_ns: 0, steady_wait_ns: null, reducer: null, passes: 0, examples: [], waits: [] };
    const communication = { ...lengths, ...waits, rows: [known, unknown].map((each) => ({ ...each, ...rest })) };
    const page = words(overview({ result: { ...OVERVIEW, communication } }));
    expect(page).toContain("|Collective|Type|Group|Calls|Bytes|Runs|Exposed|Est. waits|");
    expect(page).toContain("|all-reduce|Float|0, 8 ranks|5|102 MB|15.0 ms|13.0 ms|2.0 ms|");
    expect(page).toContain("|broadcast|–|–|5|–|15.0 ms|13.0 ms|0 ms|");
  });

  test("every picture has a sentence", () => {
    const html = htmlOf(overview());
    expect(html).toContain(
      '<figure class="step-bar" aria-label="Mean step of 160.0 ms: the GPU works 100.0 ms and waits 60.0 ms. It ' +
        'could be about 118 ms."',
    );
  });

  test("says how much of the mean step does not repeat, and why, from a hundredth of it on", () => {
    const drawn = (once_ns: number) => {
      const steps = OVERVIEW.steps.map((step) => ({ ...step, once_ns }));
      return htmlOf(overview({ result: { ...OVERVIEW, steps } }));
    };
    expect(drawn(20e6).replace(/<[^>]+>/g, "")).toContain("GPU waits 60.0 ms, 38 %; 20.0 ms does not repeat");
    expect(drawn(20e6)).toContain('data-hint="Once: 20.0 ms. No verdict and no gain counts it."');
    expect(drawn(1e6)).not.toMatch(/left-out|does not repeat/);
  });

  test("several GPUs work when any of them does", () => {
    const devices = [0, 1].map((device) => ({
      device,
      name: "A100",
      utilization: 0.6,
      est_sm_efficiency: 0.5,
      est_achieved_occupancy: 0.4,
      kineto_achieved_occupancy: 0.3,
    }));
    const html = htmlOf(overview({ result: { ...OVERVIEW, devices } }));
    expect(html.replace(/<[^>]+>/g, "")).toContain("A GPU works 100.0 ms, 63 %No GPU works 60.0 ms, 38 %");
    expect(html).toContain("Mean step of 160.0 ms: a GPU works 100.0 ms and no GPU works 60.0 ms.");
  });

  test("its halves say of what they are a share, as the list of views does", () => {
    const gpu = { id: "gpu", title: "GPU", tiles: [], share: "Share of the mean step in which a GPU works." };
    const meanings = { ...TAB.meanings, views: [...TAB.meanings.views, gpu] };
    const html = htmlOf(overview({}, { ...TAB, meanings }));
    expect(html).toMatch(/<span data-hint="Share of the mean step in which a GPU works\." tabindex="0">GPU works/);
  });

  test("a trace without a GPU has one brace, without the length that the axis says", () => {
    const result = { ...OVERVIEW, has_device: false, works_ns: 0, waits_ns: OVERVIEW.mean_duration_ns };
    const head = { ...HEAD, job: { ...HEAD.job, machine: plain("GPU part of the file cut off") } };
    expect(words(overview({ head, result, could_be: null }))).toContain(
      "|GPU part of the file cut off|Kernel 98.0|Memcpy 2.0|Data loading 60.0|0|",
    );
  });

  test("next to another span tiles show both figures and the anatomy both steps on one scale", () => {
    const tiles = [series("step_time", 200e6, []), series("gpu_utilization", 0.5, [])];
    const other = { ...PAGE, result: { ...OVERVIEW, mean_duration_ns: 200e6, tiles } };
    const page = words(overview({}, TAB, { name: "b", own: "a", page: other }));
    const bar = "Kernel 98.0|Memcpy 2.0|Data loading 60.0|";
    expect(page).toContain(
      `|a| |160.0 ms|GPU works |100.0 ms|, 63 %|GPU waits |60.0 ms|, 38 %|${bar}b| |200.0 ms|${bar}0|20|`,
    );
    expect(page).toContain(
      "|Step time|160.0|ms|200.0|ms|-40.0 ms vs b|GPU utilization|–|50.0|%|not known in this span|" +
        "Exposed data loading|60.0|ms|all of it|",
    );
  });

  test("several GPUs of one process stand side by side", () => {
    const device = (id: number, utilization: number) => ({
      device: id,
      name: `GPU ${id}`,
      utilization,
      est_sm_efficiency: null,
      est_achieved_occupancy: 0.5,
      kineto_achieved_occupancy: 0,
    });
    const result = { ...OVERVIEW, devices: [device(3, 0.9), device(0, 0.125)] };
    const page = words(overview({ result }));
    expect(page).toContain("|3|GPU 3|90.0 %|50.0 %|0 %|0|GPU 0|12.5 %|50.0 %|0 %|");
    expect(words(overview({ result: { ...OVERVIEW, devices: [device(0, 1)] } }))).not.toContain("GPU 0");
  });

  test("where nothing on a GPU is recorded there are no tiles of one", () => {
    const result = { ...OVERVIEW, has_device: false };
    const page = words(overview({ result }));
    expect(page).not.toContain("GPU utilization");
    expect(page).toContain("Exposed data loading");
  });

  test("with nothing to do it says so", () => {
    expect(words(overview({ insights: [] }))).toContain("|What to do|No recommendation for this span.|");
    const action = { template: "Record the GPU, too.", values: {} };
    const headline = { ...PAGE.headline, action, view: null };
    expect(words(overview({ insights: [], headline }))).toContain(
      "|What to do|This trace shows too little for a recommendation.|",
    );
  });
});

test("names out of a trace stay text", () => {
  const evil = "<img src=x onerror=alert(1)>";
  const html = renderToString(
    <Top
      job={{
        line: { template: "{n}", values: { n: { value: evil, unit: "text" } } },
        shown_by: [],
        machine: plain(""),
        units: null,
        accelerator: "GPU",
        vendor: null,
      }}
      headline={{
        verdict: { template: "{n}", values: { n: { value: evil, unit: "text" } } },
        ...all(null, "action view basis card"),
        code: evil,
      }}
      simulated={null}
      notes={[]}
      tab={TAB}
    />,
  );
  expect(html).not.toContain("<img");
  expect(html).toContain("&lt;img");
});

test("the kind of job stands above what is true, with what shows it", () => {
  const html = renderToString(<Top job={PAGE.head.job} headline={PAGE.headline} tab={TAB} />);
  expect(html).toContain(
    '<p class="job" data-hint="Training: 12 nodes." tabindex="0">training · eager · Tesla V100</p>',
  );
});

test("the second line leads to the view that shows more of it", () => {
  const headline = { ...PAGE.headline, action: plain("Use 11 workers.") };
  expect(words(<Top headline={headline} tab={TAB} />)).toBe("|A step takes long.|Use 11 workers.|Open Data loading|");
});

test("inferred steps give way to the whole recording, and come back", () => {
  const note: NoteText = {
    id: "inferred_steps",
    cause: plain("Steps are inferred."),
    effect: plain("Effect."),
    more: null,
  };
  const top = (tab: typeof TAB, id: string) =>
    words(<Top headline={PAGE.headline} notes={[{ ...note, id }]} tab={tab} />);
  expect(top(TAB, "inferred_steps")).toContain("Show the whole recording as one step");
  expect(top(TAB, "no_steps")).not.toContain("Show");
  expect(top({ ...TAB, state: { steps: "recording" } }, "no_steps")).toContain("Show steps");
});

test("at most two notes stand open, with their effects in hints, and that a trace is simulated stands first", () => {
  const note = (id: string): NoteText => ({ id, cause: plain(`Cause ${id}.`), effect: plain("Effect."), more: null });
  const notes = ["a", "b", "simulated", "c"].map(note);
  const top = renderToString(<Top headline={PAGE.headline} simulated="No GPU ran." notes={notes} tab={TAB} />);
  const told = [...top.matchAll(/<b>(Cause [^<]*)<\/b>.*?data-hint="([^"]*)"/g)].map(([, cause, effect]) => [
    cause,
    effect,
  ]);
  expect(told).toEqual([
    ["Cause simulated.", "Effect."],
    ["Cause a.", "Effect."],
  ]);
  expect(top).toContain("2\u00a0more notes");
  const alone = <Top headline={PAGE.headline} simulated="No GPU ran." tab={TAB} />;
  expect(words(alone)).toContain("|Simulated, not recorded.|");
  expect(hintsOf(alone)).toContain("No GPU ran.");
});

test("what shares are of stands behind the mark of the line that states them", () => {
  const basis = plain("Shares are of 5 ms.");
  const top = (action: Phrase | null) =>
    renderToString(<Top headline={{ ...PAGE.headline, basis, action }} tab={TAB} />);
  const mark = 'data-hint="Shares are of 5 ms."';
  const after = (html: string, end: string) => html.indexOf(mark) > html.indexOf(end);
  expect(after(top(null), "</h1>")).toBe(true);
  expect(after(top(plain("Use 4 workers.")), "Use 4 workers.")).toBe(true);
});

describe("states", () => {
  test("reading says bytes, file, events, rate and time left", () => {
    const progress = {
      read_bytes: 412e6,
      total_bytes: 1240e6,
      events: 2_310_000,
      bytes_per_second: 540e6,
      seconds_left: 1.6,
    };
    const waiting = { state: "reading" as const, file: "f", file_number: 3, file_count: 8, progress };
    const html = <Reading name="rank 3" waiting={waiting} fileBytes={1240e6} tiles={["Step time"]} ready={2} />;
    expect(words(html)).toBe(
      "|Reading rank 3: 412 of 1 240 MB|File 3 of 8, 2.31 million events, 540 MB/s, about 2 s " +
        "left. Other spans are ready: choose one above.|25 percent read|Step time| |",
    );
    expect(renderToString(html)).toContain('aria-valuenow="33"');
  });

  test("empty shows how to record, where was looked, and what could not be shown", () => {
    const problem = { problem: "This folder may not be read", file: "runs/x", hint: "Ask for permission." };
    const page = words(<Empty index={index([], { places: ['C:\\my "runs"'], problems: [problem] })} />);
    expect(page).toContain("import torch.profiler as tp\nwith tp.profile(");
    expect(page).toContain(String.raw`tensorboard_trace_handler("C:\\my \"runs\"/a")`);
    expect(page).toContain("14 folders below");
    expect(page).toContain("|This folder may not be read.| |runs/x|. Ask for permission.|");
  });

  test("failed names the fact, the file and the way out", () => {
    const problem = { problem: "The file is not JSON", file: "a/w.json", hint: "Record it again." };
    expect(
      words(<Failed title="This trace could not be analysed." problem={problem} about="" again={() => {}} />),
    ).toContain(
      "|This trace could not be analysed.|The file is not JSON. File: |a/w.json|Record it again.|" +
        "Try again|Copy the report|",
    );
  });
});

describe("the bar says what is read", () => {
  const plainText = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, " ");
  const progress = (read: number, total: number) => ({
    read_bytes: read,
    total_bytes: total,
    events: 1,
    bytes_per_second: null,
    seconds_left: null,
  });

  test.each([
    [index([run("a", [span(1), span(2)])]), 2, ""],
    [index([run("a", [span(1), span(2), span(3)])]), 2, "1 new span"],
    [index([run("a", [span(1), span(2, "failed")])]), 2, "1 of 2 spans read, 1 failed"],
    [
      index([
        run("a", [
          span(1, "reading", { progress: progress(2e6, 30e6) }),
          span(2, "reading", { progress: progress(10e6, 70e6) }),
        ]),
      ]),
      2,
      "Reading 12 of 100 MB",
    ],
    [index([]), 0, ""],
  ])("%#", (given, atFirst, expected) => {
    expect(plainText(readState(given, atFirst))).toBe(expected);
  });
});

test("a spark has the spans in time order, the current one firm; of many spans one point each", () => {
  const own = series("step_time", 3, [3, 3]);
  const near = (number: number) => ({
    id: String(number),
    number,
    values: { step_time: number },
    steps: { step_time: [number, number] },
  });
  expect(sparkRuns(own, 2, [near(3), near(1)])).toEqual([
    { values: [1, 1], firm: false },
    { values: [3, 3], firm: true },
    { values: [3, 3], firm: false },
  ]);
  expect(sparkRuns(own, 2, [near(1), near(3), near(4), near(5)])).toEqual([
    { values: [1, 3], firm: true },
    { values: [3, 4, 5], firm: false },
  ]);
});
