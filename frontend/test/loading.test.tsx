import type { VNode } from "preact";
import { renderToString } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import type { DataLoadingResult, LoaderActivities, Phrase, Recorded, WaitCauses } from "../src/api.gen";
import { around, boxOf, freeLabel } from "../src/charts/axes/free_label";
import { ProductionPlot } from "../src/charts/time/production";
import { gutterOf, rowHeight, segmentAt } from "../src/charts/time/production_lanes";
import { ColumnsPlot } from "../src/charts/bars/wait_columns";
import { bent, CurvePlot } from "../src/charts/lines/worker_curve";
import { cut } from "../src/charts/lines/worker_curve_layout";
import { scaleFor } from "../src/format";
import { DataLoading } from "../src/views/data_loading";
import { periodsOf } from "../src/views/data_loading/burst";
import { loaderNames } from "../src/views/data_loading/batch_production";
import { recorderLines } from "../src/views/data_loading/record_hint";
import { shortLine } from "../src/views/data_loading/source_lines";
import { LOADER, loaderPage, tab } from "./fixtures/figures";
import { BURST, CURVE, RECORDED, TITLES, WORKERS } from "./fixtures/loading";
import { plain } from "./fixtures/pages";

const MS = 1_000_000;
const said = (html: string): string =>
  html
    .replace(/<[^>]+>/g, "|")
    .replace(/\|+/g, "|")
    .replaceAll(/[\u00a0\u202f]/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&quot;", '"');

/** What a reader sees of it, in order. */
const words = (drawn: VNode): string => said(renderToString(drawn).replace(/<svg.*?<\/svg>/gs, ""));
const view = (more: Partial<DataLoadingResult> = {}, titles: Record<string, Phrase> = {}): string =>
  words(
    <DataLoading page={loaderPage({ ...WORKERS, ...more }, { ...TITLES, ...titles })} tab={tab()} compared={null} />,
  );
const SHARES = { first_ns: 0, late_ns: 20 * MS, jitter_ns: 0, overhead_ns: 0, others_ns: 0 };
const CAUSES: WaitCauses = { shares: SHARES, starts: null, jitter: null, overhead: null, other_loaders: null };
const STARTS = { batches: 2, wait_ns: 80 * MS, exposed_ns: 11 * MS, setup_ns: 16 * MS, respawned: false, steps: ["5"] };

describe("the view of worker processes", () => {
  test("answers how many workers, then why, then how to see more", () => {
    const page = view();
    const order = [
      "6 workers would leave a step of 20 ms",
      "As far as disk or network allow.",
      "Every third step waits 60 ms.",
      "Of 3 waits in a row one of 60.0 ms, the others of 1.0 ms at best; waits so far apart correlate by 0.9; the number of workers is known from the period. If it is not 3, every third batch is slow instead.",
    ];
    expect(order.map((each) => page.indexOf(`|${each}|`)).every((at, which, all) => at > (all[which - 1] ?? -1))).toBe(
      true,
    );
    expect(page).toContain("|Every third step waits 60 ms.|long wait|usual wait|");
    expect(page).toContain("|What do the workers do meanwhile?|Copy|Worker processes are in no trace.");
    expect(page).toContain(recorderLines("runs/a"));
  });

  test("says why nothing is predicted, in place of the curve", () => {
    const why = { code: "ambiguous_record_the_workers", values: {} };
    const page = view({ curve: null, why_unknown: why, burst: { ...BURST, period: null, why } });
    expect(page).toContain("|How many workers are enough?|Ambiguous: record the workers.|");
    expect(page).not.toContain("waits in a row");
    expect(view({ curve: null, burst: null, why_unknown: why })).toContain(
      "|How many workers are enough?|Ambiguous: record the workers.|",
    );
  });

  test("a period that is not the workers' is said without a length", () => {
    const burst = { ...BURST, workers: null, workers_from: null, long_wait_ns: null, short_wait_ns: null };
    const unchecked = loaderPage({ ...WORKERS, burst }, { ...TITLES, burst_check: plain("") });
    expect(words(<DataLoading page={unchecked} tab={tab()} compared={null} />)).toContain(
      "|Waits 3 batches apart correlate by 0.9.",
    );
    expect(view({ burst: { ...BURST, short_wait_ns: null } })).toContain(
      "|Of 3 waits in a row one of 60.0 ms; waits so far apart correlate by 0.9; the number of workers is known from the period. If it is not 3, every third batch is slow instead.|",
    );
  });

  test("two waits are no pattern", () => {
    expect(view({ burst: { ...BURST, waits: BURST.waits.slice(0, 2) } })).not.toContain(
      "Every third step waits 60 ms.",
    );
  });

  test("rare long waits are said with their cost, and only some of their steps are named", () => {
    const jitter = {
      typical_ns: 1 * MS,
      long_ns: 50 * MS,
      long_count: 7,
      exposed_ns: 4 * MS,
      steps: ["1", "2", "3", "4", "5", "6", "7"],
    };
    expect(view({ causes: { ...CAUSES, jitter } })).toContain(
      "|7 waits take 50.0 ms instead of 1.0 ms, without a period, in steps 1, 2, 3, 4, 5 and 2 more; the cost is |4.0 ms| a step.|",
    );
    expect(view({ causes: { ...CAUSES, jitter: { ...jitter, long_count: 1, steps: ["3"] } } })).toContain(
      "|1 wait takes 50.0 ms instead of 1.0 ms, without a period, in step 3; the cost is |4.0 ms| a step.|",
    );
  });

  test("several loaders are told apart; of one the first batch is said", () => {
    const loader = {
      label: "training",
      iterator: "It",
      multiprocess: true,
      role: null,
      batches: 24,
      wait_ns: 30 * MS,
      exposed_ns: 20 * MS,
      hidden_ns: 10 * MS,
      first_batches: 1,
      first_batch_ns: 800 * MS,
      in_a_row: 1,
    };
    expect(view({ loaders: [loader, { ...loader, label: "evaluation", first_batch_ns: null }] })).toContain(
      "|Which of the 2 loaders is waited for?|a batch|Loader|Batches|Exposed|First|training|24|20.0 ms|800.0 ms|evaluation|24|20.0 ms|–|",
    );
    expect(view({ loaders: [loader] })).toContain(
      "|The first batch of an epoch takes |800.0 ms|, with the start of the workers: apart from the figures per batch.|",
    );
  });

  test("a loader in the training process starts no workers", () => {
    const loader = {
      label: "Loader",
      iterator: "It",
      multiprocess: false,
      role: null,
      batches: 24,
      wait_ns: 30 * MS,
      exposed_ns: 20 * MS,
      hidden_ns: 10 * MS,
      first_batches: 2,
      first_batch_ns: 80 * MS,
      in_a_row: 1,
    };
    const said = "|2 first batches of epochs take |80.0 ms| each: apart from the figures per batch.|";
    expect(view({ loaders: [loader] })).toContain(said);
    const causes = { ...CAUSES, starts: STARTS };
    expect(view({ loaders: [{ ...loader, multiprocess: true }], causes })).toContain(said); // they stay
  });

  test("the exposed wait is shared out where it is for several things", () => {
    const shares = { first_ns: 11 * MS, late_ns: 9 * MS, jitter_ns: 0, overhead_ns: 1 * MS, others_ns: 2 * MS };
    const causes = { ...CAUSES, shares, starts: STARTS };
    expect(view({ causes })).toContain(
      "|Exposed in the mean step: |9.0 ms| for late batches, |11.0 ms| for 2 epochs that begin, |1.0 ms| for receiving batches and |2.0 ms| for other loaders. New iterators take another 16.0 ms before they are asked for a batch.|",
    );
    const alone = { ...causes, shares: { ...shares, late_ns: 0, overhead_ns: 0, others_ns: 0 } };
    expect(view({ causes: alone })).not.toContain("Exposed in the mean step");
  });

  test("below the curve stands what each of its points holds", () => {
    expect(view({}, { curve_epochs: plain("In each step: 11 ms for epochs that begin.") })).toContain(
      "|In each step: 11 ms for epochs that begin.|As far as disk or network allow.|",
    );
  });

  test("copies of the batch say from which memory, how fast, and what runs beside them", () => {
    const copy = {
      count: 2,
      bytes: 19_000_000,
      bytes_per_second: 3e9,
      total_ns: 6 * MS,
      hidden_ns: 4 * MS,
      alone_ns: 2 * MS,
      blocked_ns: 5 * MS,
      pageable: true,
    };
    expect(view({ copy }, { copy: plain("Copied from pageable memory") })).toContain(
      "|Copied from pageable memory|alone |2.0 ms|beside kernels |4.0 ms|host stands |5.0 ms|2 a step, 19 MB at 3 000 MB/s, from pageable memory.|",
    );
    expect(view({ copy: { ...copy, bytes: null, bytes_per_second: null, pageable: null } })).toContain(
      "|How does the batch reach the GPU?|alone |2.0 ms|beside kernels |4.0 ms|host stands |5.0 ms|2 a step.|",
    );
  });

  test("what receiving costs is a figure with its source, or a reason", () => {
    const why = { code: "overhead_hidden_by_late_batches", values: {} };
    const overhead = {
      ns: 3 * MS,
      exposed_ns: 1 * MS,
      source: "recorder" as const,
      unpickle_ns: 2 * MS,
      pin_ns: null,
      why: null,
    };
    expect(view({ causes: { ...CAUSES, overhead } })).toContain(
      "|The training process itself spends |3.0 ms| a batch on receiving it, at best; in a step, 1.0 ms of it exposed (on average, unpickling takes 2.0 ms): as recorded.|",
    );
    expect(view({ causes: { ...CAUSES, overhead: { ...overhead, ns: null, why } } })).toContain(
      "|Late batches hide it.|",
    );
  });

  test("another span has its point where its number of workers is known, and a line where it is not", () => {
    const beside = (result: DataLoadingResult) =>
      words(
        <DataLoading
          page={loaderPage(WORKERS, TITLES)}
          tab={tab()}
          compared={{ name: "b", page: loaderPage(result) }}
        />,
      );
    const unknown = "|b measured 150.0 ms; its trace does not tell the number of workers.|";
    expect(beside({ ...WORKERS, curve: null, burst: { ...BURST, workers: null } })).toContain(unknown);
    const known = beside({ ...WORKERS, curve: null });
    expect(known).not.toContain(unknown);
    expect(known).toContain("|b measured 150.0 ms with 3 workers.|");
  });
});

describe("a loader in the training process", () => {
  const alone = (more: Partial<LoaderActivities> = {}, titles: Record<string, Phrase> = {}): string => {
    const activities = { ...LOADER.activities!, ...more };
    return words(<DataLoading page={loaderPage({ ...LOADER, activities }, titles)} tab={tab()} compared={null} />);
  };
  const [python, op] = LOADER.activities!.rows;
  const lines = [
    { line: "torchvision/transforms/functional.py(138): to_tensor", ns_per_batch: 7 * MS },
    { line: "data.py(3): crop", ns_per_batch: 2 * MS },
  ];

  test("has the line of each activity that a call stack shows, the longest first", () => {
    const page = alone({ rows: [python!, { ...op!, lines }] });
    expect(page).toContain(
      "|Activity|Line|A batch|Python, no op|–|40.0 ms|aten::to|70 % in functional.py:138 to_tensor|10.0 ms|4 more|5.0 ms|Self time of the training process.|",
    );
  });

  test("all lines of an activity are on hover, with their paths and times", () => {
    const html = renderToString(
      <DataLoading
        page={loaderPage({ ...LOADER, activities: { ...LOADER.activities!, rows: [{ ...op!, lines }] } })}
        tab={tab()}
        compared={null}
      />,
    );
    expect(html.replaceAll(/[\u00a0\u202f]/g, " ")).toContain(
      'title="torchvision/transforms/functional.py(138): to_tensor, 7.0 ms\ndata.py(3): crop, 2.0 ms"',
    );
  });

  test("has no column of dashes where no line is known, but the reason", () => {
    const missing = {
      template: "Lines are not known. {setting} shows them.",
      values: { setting: { value: "with_stack=True", unit: "code" as const } },
    };
    expect(alone({}, { lines_missing: missing })).toContain(
      "|Activity|A batch|Python, no op|40.0 ms|aten::to|10.0 ms|4 more|5.0 ms|Self time of the training process. Lines are not known. |with_stack=True| shows them.|",
    );
  });

  test("lines of the user are told apart by what stands at their end", () => {
    expect(alone({ slow_lines: lines })).toContain(
      "|A batch spends 7.0 ms in functional.py:138 to_tensor|Line|A batch|functional.py:138 to_tensor|7.0 ms|data.py:3 crop|2.0 ms|With what they call in torch and in Python's own library.|",
    );
    expect(shortLine("<built-in function sleep>")).toBe("<built-in function sleep>");
  });
});

describe("recorded workers", () => {
  const killed = { id: "killed", cause: plain("Worker 1 was killed."), effect: plain("Its last batches are missing.") };
  const recorded = { ...loaderPage({ ...WORKERS, recorded: RECORDED }, TITLES), notes: [killed] };
  const page = words(<DataLoading page={recorded} tab={tab()} compared={null} />);

  test("what is missing stands above what is there", () => {
    expect(page).toContain(
      "|Worker 1 was killed.| Its last batches are missing.|The workers are busy half of the time|",
    );
  });

  test("nobody is told to record what is recorded", () => {
    expect(page).not.toContain("LoaderRecorder");
  });

  test("a batch is split; an unknown part is a dash", () => {
    expect(page).toContain(
      "|Most of a batch is the dataset|Part|A batch|Share|Dataset|100.0 ms|80.0 %|Collate|20.0 ms|16.0 %|Transfer|5.0 ms|4.0 %|Prefetched|–|–|The training loop waits|20.0 ms|6 batches; 32 samples, 19 MB each; CPU-bound, 95.0 % CPU|.|",
    );
    expect(page).toContain(
      "|ImageFolder, 6 batches: |num_workers=2, prefetch_factor=2, batch_size=32, pin_memory=True|",
    );
  });

  test("workers that are alike are named in the title, and a killed one in its row", () => {
    expect(page).toContain(
      "|Every worker is CPU-bound|on 4 cores|Worker|Batches|Dataset|Collate|Busy|CPU|No core|Limit|0|3|100.0 ms|20.0 ms|50.0 %|95.0 %|2.0 %|CPU-bound|1|3|101.0 ms|20.0 ms|50.0 %|95.0 %|2.0 %|CPU-bound|, killed|",
    );
  });

  test("workers that differ are a question", () => {
    const [one, other] = RECORDED.workers;
    expect(view({ recorded: { ...RECORDED, workers: [one!, { ...other!, kind: "io" }] } })).toContain(
      "|What do the workers spend their time on?|",
    );
  });

  describe("of several loaders", () => {
    const second = <Row extends { loader: number; worker: number }>(row: Row): Row => ({
      ...row,
      loader: 1,
      worker: -1,
    });
    const { workers, lanes, slowest, queues } = RECORDED;
    const [first] = RECORDED.loaders;
    const both: Recorded = {
      ...RECORDED,
      loaders: [
        { ...first!, loader: 1, workers: 0, dataset: null, label: "Evaluation loader" },
        { ...first!, label: "Training loader" },
      ],
      workers: [workers[0]!, second(workers[1]!)],
      lanes: [lanes[0]!, second(lanes[1]!)],
      slowest: [slowest[0]!, second(slowest[1]!)],
      queues: [queues[0]!, { ...queues[0]!, loader: 1, late_share: 0 }],
    };
    const html = renderToString(
      <DataLoading page={loaderPage({ ...WORKERS, recorded: both }, TITLES)} tab={tab()} compared={null} />,
    );
    const two = view({ recorded: both });

    test("a worker, a batch and the settings have the name that the table of loaders has", () => {
      expect(two).toContain("|6 batches of Training loader; 32 samples, 19 MB each; ");
      expect(two).toContain("|Loader|Worker|Batches|Dataset|");
      expect(two).toContain("|Training loader|0|3|100.0 ms|");
      expect(two).toContain("|Evaluation loader|main|3|101.0 ms|");
      expect(two).toContain("|Training loader|9|0|6|200.0 ms|");
      expect(two).toContain("|Evaluation loader|8|main|–|110.0 ms|");
      expect(two).toContain("|Evaluation loader, 6 batches: |num_workers=0,");
      expect(two).toContain("|Training loader, ImageFolder, 6 batches: |num_workers=2,");
    });

    test("a lane, a queue and its requests have it, too", () => {
      expect(two).toContain(
        "|Training loader: 50 % of the requests find their batch not ready; Evaluation loader: every request finds its batch ready.|",
      );
      const names = loaderNames(both);
      expect([names.before(0, "Worker 0"), names.before(1, "Training process")]).toEqual([
        "Training loader: worker 0",
        "Evaluation loader: training process",
      ]);
    });

    test("no number of the recorder's is shown", () => {
      expect(html).not.toMatch(/[Ll]oader [01]\b/);
    });

    test("they stand in the order of the table when sorted", () => {
      const names = loaderNames(both);
      expect([names.place(1), names.place(0)]).toEqual([0, 1]);
    });
  });

  describe("figures that rest on the batches that were sampled", () => {
    const some = (sampled: number, few: boolean): Recorded => ({
      ...RECORDED,
      sampled: 2 * sampled,
      few_sampled: few,
      workers: RECORDED.workers.map((worker) => ({
        ...worker,
        sampled,
        few_sampled: few,
        cpu_share: sampled ? worker.cpu_share : null,
        kind: sampled ? worker.kind : null,
      })),
    });

    test("say so where others were not", () => {
      const page = view({ recorded: some(2, false) });
      expect(page).toContain("; CPU-bound, 95.0 % CPU in 4 sampled batches|");
      expect(page).toContain("|CPU, No core and Limit are of 4 sampled batches of 6.|");
      expect(page).toContain("|Every worker is CPU-bound|on 4 cores|");
    });

    test("are estimates where they are few", () => {
      const page = view({ recorded: some(1, true) });
      expect(page).toContain("; est. CPU-bound, 95.0 % CPU in 2 sampled batches|");
      expect(page).toContain("|Every worker is CPU-bound, est. from 2 of 6 batches|on 4 cores|");
      expect(page).toContain("|95.0 %|2.0 %|est. CPU-bound|1|");
      expect(page).toContain("|CPU, No core and Limit are of 2 sampled batches of 6; est. where these are few.|");
      const html = renderToString(
        <DataLoading page={loaderPage({ ...WORKERS, recorded: some(1, true) }, TITLES)} tab={tab()} compared={null} />,
      ).replaceAll("\u00a0", " ");
      expect(html.match(/title="Of 1 of its 3 batches: the others were not sampled"/g)).toHaveLength(6); // three figures of two workers
    });

    test("are unknown where there is none", () => {
      expect(view({ recorded: some(0, true) })).toContain(
        "|CPU, No core and Limit are not known: no batch was sampled.|",
      );
    });

    test("say nothing where all were", () => {
      expect(page).not.toContain("sampled");
    });
  });

  test("lines of the workers are shares with their error, from how many samples; too few are a reason", () => {
    const seen = {
      lines: [{ line: "pack/data.py(41): __getitem__", share: 0.75, error: 0.04, ns_per_batch: 90 * MS }],
      samples: 48,
      bursts: 12,
      whole: true,
      why: null,
    };
    expect(view({ recorded: { ...RECORDED, lines: seen } })).toContain(
      "|About 75 % of batch production is data.py:41 __getitem__|Line|Share|±|A batch|data.py:41 __getitem__|75 %|4 %|90.0 ms|Est. from 48 samples in 12 bursts of the whole recording, because this span has too few.|",
    );
    expect(
      view({
        recorded: {
          ...RECORDED,
          lines: { ...seen, lines: [], whole: false, why: { code: "too_few_line_samples", values: {} } },
        },
      }),
    ).toContain("|Which lines produce a batch?|Too few samples.|");
  });

  test("requests that all find their batch say so without a figure", () => {
    expect(view({ recorded: { ...RECORDED, queues: [{ ...RECORDED.queues[0]!, late_share: 0 }] } })).toContain(
      "|Every request finds its batch ready.|",
    );
  });

  test("requests that wait say how many", () => {
    const late = [{ ...RECORDED.queues[0]!, late_share: 0.5 }];
    expect(view({ recorded: { ...RECORDED, queues: late } })).toContain(
      "|50 % of the requests find their batch not ready.|",
    );
  });

  test("the slowest batches name their step, and those that no step took have none", () => {
    expect(page).toContain(
      "|The slowest batch takes 240.0 ms, the mean one 120.0 ms|Batch|Worker|Step|Dataset|Collate|CPU|Waited|9|0|6|200.0 ms|40.0 ms|50.0 %|100.0 ms|8|1|–|110.0 ms|20.0 ms|–|0 ms|",
    );
  });

  test("a loader in the training process trains between batches and does not wait for requests", () => {
    const lanes = [{ ...RECORDED.lanes[0]!, worker: -1 }];
    const alone = view({
      multiprocess: false,
      recorded: { ...RECORDED, lanes, transfer_ns: 0, ready_ns: 0, workers: [{ ...RECORDED.workers[0]!, worker: -1 }] },
    });
    expect(alone).toContain("|dataset|collate|trains|");
    expect(alone).toContain("|The training process is CPU-bound|");
    expect(alone).not.toContain("Prefetched|0 ms");
  });
});

describe("the curve over workers", () => {
  const scale = scaleFor(120 * MS, "ns");
  const plot = (curve = CURVE, width = 624) =>
    renderToString(
      <CurvePlot
        label="Curve."
        width={width}
        height={206}
        points={curve.points}
        measured={{ workers: curve.measured_workers, ns: curve.measured_step_ns, text: "now" }}
        others={[]}
        scale={scale}
        axis="num_workers"
        recommended={{ workers: curve.recommended, ns: curve.floor_ns, text: "recommended" }}
        gain={{ ns: curve.gain_ns, text: "up to 20 ms" }}
        loader="loader"
        cores={{ workers: 4, text: "4 cores" }}
        tip={() => ({ title: "", rows: [] })}
      />,
    );

  test("names what is measured, what is recommended, what it saves, the loader and the cores", () => {
    const text = said(plot());
    for (const each of ["now", "recommended", "up to 20 ms", "loader", "4 cores", "num_workers"])
      expect(text).toContain(`|${each}|`);
  });

  test("is reached by keyboard and has a sentence", () => {
    expect(plot()).toContain('role="img" aria-label="Curve." tabindex="0"');
  });

  test("nothing to save is no bar", () => {
    expect(plot({ ...CURVE, gain_ns: 0 })).not.toContain('class="saved"');
  });

  test("cores beyond the axis are no line", () => {
    expect(plot()).toContain('class="ref"');
    expect(said(plot({ ...CURVE, points: CURVE.points.slice(0, 3), recommended: 3 }))).not.toContain("4 cores");
  });

  test("what is recommended stands across the line of cores rather than nowhere", () => {
    const points = Array.from({ length: 8 }, (_, at) => ({
      workers: at + 1,
      step_ns: Math.max(15, 19 / (at + 1)) * MS,
      loader_ns: (19 / (at + 1)) * MS,
    }));
    const html = renderToString(
      <CurvePlot
        label="Curve."
        width={624}
        height={206}
        points={points}
        measured={{ workers: 0, ns: 33 * MS, text: "33 ms now" }}
        others={[]}
        scale={scale}
        axis="num_workers"
        recommended={{ workers: 2, ns: 15 * MS, text: "recommended: 2 workers, about 15 ms" }}
        gain={{ ns: 18 * MS, text: "up to 18 ms" }}
        loader="loader"
        cores={{ workers: 4, text: "4 cores" }}
        tip={() => ({ title: "", rows: [] })}
      />,
    );
    expect(said(html)).toContain("|recommended: 2 workers, about 15 ms|");
    const [, x] = /<text[^>]* x="([\d.]+)"[^>]*>recommended/.exec(html)!;
    const cores = Number(/class="ref" x1="([\d.]+)"/.exec(html)![1]);
    expect(Number(x) < cores && Number(x) + 200 > cores).toBe(true);
  });

  test("has room for what is recommended, however much longer than now that is", () => {
    const html = plot({ ...CURVE, measured_step_ns: 1 * MS, recommended: 1, floor_ns: 120 * MS, gain_ns: 0 });
    const height = Number(/class="goal" cx="[^"]+" cy="([^"]+)"/.exec(html)![1]);
    expect(height).toBeGreaterThanOrEqual(12);
  });

  test("enters the picture where it falls below its top", () => {
    const dots = [
      { x: 0, y: -10 },
      { x: 10, y: 10 },
      { x: 20, y: 15 },
    ];
    expect(cut(dots, 0)).toEqual([
      { x: 5, y: 0 },
      { x: 10, y: 10 },
      { x: 20, y: 15 },
    ]);
    expect(cut(dots.slice(1), 0)).toEqual(dots.slice(1));
    expect(cut(dots.slice(0, 1), 0)).toEqual([]);
  });

  test("is a hyperbola between whole numbers: half way from one to two workers a third is saved", () => {
    const [at] = bent(
      [
        { x: 0, y: 100 - 60 },
        { x: 10, y: 100 - 30 },
      ],
      100,
    ).filter((dot) => dot.x === 5);
    expect(100 - at!.y).toBeCloseTo(40);
  });
});

describe("words beside marks", () => {
  const frame = { left: 0, right: 300, top: 0, bottom: 100 };

  test("stand where nothing else does, inside the frame", () => {
    const taken = [around({ x: 100, y: 50 }, 5)];
    const first = freeLabel("one", { x: 100, y: 50 }, frame, taken, [])!;
    const second = freeLabel("two", { x: 100, y: 50 }, frame, taken, [])!;
    expect([first.anchor, first.y]).toEqual(["start", 43]);
    expect(boxOf(second).top).toBeGreaterThan(boxOf(first).bottom);
    expect(freeLabel("far too long for the frame".repeat(3), { x: 100, y: 50 }, frame, taken, [])).toBeNull();
  });

  test("keep off lines", () => {
    const label = freeLabel(
      "one",
      { x: 100, y: 50 },
      frame,
      [],
      [
        [
          { x: 100, y: 40 },
          { x: 300, y: 40 },
        ],
      ],
    )!;
    expect(boxOf(label).top > 40 || boxOf(label).right < 100).toBe(true);
  });
});

describe("waits in the order of batches", () => {
  test("a bracket joins long waits that are one period apart, and no others", () => {
    expect(periodsOf(BURST.waits, 3)).toEqual([
      [0, 3],
      [3, 6],
    ]);
    const gone = BURST.waits.map((wait, at) => (at === 3 ? { ...wait, long: false } : wait));
    expect(periodsOf(gone, 3)).toEqual([]);
  });

  test("are columns, the short ones fainter, with the period's length once", () => {
    const html = renderToString(
      <ColumnsPlot
        label="Waits."
        width={600}
        height={168}
        columns={BURST.waits.map((wait) => ({ key: wait.step, ns: wait.wait_ns, long: wait.long }))}
        periods={periodsOf(BURST.waits, 3)}
        periodText="3 batches"
        axis="step"
        colour="data"
        scale={scaleFor(60 * MS, "ns")}
        hovered={null}
        selected="8"
        hover={() => {}}
        select={() => {}}
        tip={() => ({ title: "", rows: [] })}
      />,
    );
    expect(/class="mark" d="([^"]*)"/.exec(html)![1]!.match(/M/g)).toHaveLength(3);
    expect(html.match(/3 batches/g)).toHaveLength(1);
    expect(html.match(/class="choice"/g)).toHaveLength(1);
  });
});

describe("lanes of workers", () => {
  const lane = { key: "0", name: "Worker 0", start_ns: [10, 30], end_ns: [20, 40], part: [0, 1] };

  test("find the segment under the pointer, and none between two", () => {
    expect([5, 10, 19, 20, 39, 40].map((ns) => segmentAt(lane, ns))).toEqual([null, 0, 0, null, 1, null]);
  });

  test("begin where the longest name ends", () => {
    const named = (name: string) =>
      gutterOf({ lanes: [{ ...lane, name }], depths: [{ key: "0", name: "Ready", at_ns: [], depth: [] }] });
    expect([named("Worker 0"), named("Evaluation loader: worker 0")]).toEqual([104, 165]);
  });

  test("share the height: many workers are lower, none vanishes", () => {
    expect([1, 8, 9, 16, 32, 200].map(rowHeight)).toEqual([26, 26, 18, 18, 12, 8]);
  });

  test("are drawn by part, with ready batches below and the chosen step ringed", () => {
    const html = renderToString(
      <ProductionPlot
        label="Lanes."
        width={704}
        from={0}
        to={60}
        lanes={[lane]}
        parts={[
          { label: "a", colour: "data", hatched: false },
          { label: "b", colour: "cpu", hatched: true },
        ]}
        depths={[{ key: "0", name: "Ready", at_ns: [0, 30], depth: [2, 0] }]}
        steps={[
          { key: "5", at: 0 },
          { key: "6", at: 30 },
        ]}
        scale={scaleFor(60, "ns")}
        hovered={null}
        selected="6"
        hover={() => {}}
        select={() => {}}
        segmentTip={() => ({ title: "", rows: [] })}
      />,
    );
    expect(said(html)).toContain("|Worker 0|Ready|2|0|step 5|6|");
    expect(html).toContain('class="mark" d="M205.0 22h99.0v22H205.0z"');
    expect(html).toContain("fill:url(#hatch-cpu)");
    expect(html.match(/class="ring" x="404"/g)).toHaveLength(1);
  });
});
