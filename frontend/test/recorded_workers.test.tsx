import { describe, expect, test } from "vitest";
import type { DataLoadingResult, Recorded } from "../src/api.gen";
import { DataLoading } from "../src/views/data_loading/data_loading";
import { loaderNames } from "../src/views/data_loading/production";
import { loaderPage, tab } from "./fixtures/figures";
import { RECORDED, TITLES, WORKERS } from "./fixtures/loading";
import { plain } from "./fixtures/pages";
import { hintsOf, htmlOf, rowsOf, words } from "./fixtures/words";

const MS = 1_000_000;
const drawn = (more: Partial<DataLoadingResult> = {}) => (
  <DataLoading page={loaderPage({ ...WORKERS, ...more }, TITLES)} tab={tab()} compared={null} />
);
const view = (more: Partial<DataLoadingResult> = {}): string => words(drawn(more));

describe("recorded workers", () => {
  const killed = {
    id: "killed",
    cause: plain("Worker 1 was killed."),
    effect: plain("Its last batches are missing."),
    more: null,
  };
  const recorded = { ...loaderPage({ ...WORKERS, recorded: RECORDED }, TITLES), notes: [killed] };
  const page = words(<DataLoading page={recorded} tab={tab()} compared={null} />);

  test("what is missing stands above what is there", () => {
    expect(page).toContain("|Worker 1 was killed.| | |The workers are busy half of the time|");
  });

  test("nobody is told to record what is recorded", () => {
    expect(page).not.toContain("LoaderRecorder");
  });

  test("a batch is split; an unknown part is a dash", () => {
    expect(page).toContain(
      "|Most of a batch is the dataset| |Part|A batch|Share|Dataset|100.0 ms|80.0 %|Collate|20.0 ms|" +
        "16.0 %|Transfer|5.0 ms|4.0 %|Prefetched|–|–|The loop waits|20.0 ms|",
    );
    expect(hintsOf(drawn({ recorded: RECORDED }))).toContain(
      "6 batches; 32 samples, 19 MB each; CPU-bound, 95.0 % CPU.\n" +
        "ImageFolder, 6 batches: num_workers=2, prefetch_factor=2, batch_size=32, pin_memory=True",
    );
  });

  test("workers that are alike are named in the title, and a killed one in its row", () => {
    expect(page).toContain("|Every worker is CPU-bound|on 4 cores|");
    const alike = { Batches: "3", Collate: "20.0 ms", Busy: "50.0 %", CPU: "95.0 %", "No core": "2.0 %" };
    expect(rowsOf(drawn({ recorded: RECORDED }), "Worker processes")).toMatchObject([
      { ...alike, Worker: "0", Dataset: "100.0 ms", Limit: "CPU-bound" },
      { ...alike, Worker: "1", Dataset: "101.0 ms", Limit: "CPU-bound, killed" },
    ]);
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
    const two = view({ recorded: both });

    test("a worker, a batch and the settings have the name that the table of loaders has", () => {
      const hints = hintsOf(drawn({ recorded: both }));
      expect(hints).toContain("6 batches of Training loader; 32 samples, 19 MB each; ");
      expect(two).toContain("|Loader|Worker|Batches|Dataset|");
      expect(two).toContain("|Training loader|0|3|100.0 ms|");
      expect(two).toContain("|Evaluation loader|main|3|101.0 ms|");
      expect(two).toContain("|Training loader|9|0|6|200.0 ms|");
      expect(two).toContain("|Evaluation loader|8|main|–|110.0 ms|");
      expect(hints).toContain("\nEvaluation loader, 6 batches: num_workers=0,");
      expect(hints).toContain("\nTraining loader, ImageFolder, 6 batches: num_workers=2,");
    });

    test("a lane, a queue and its requests have it, too", () => {
      expect(two).toContain(
        "|Training loader: 50 % of the requests find their batch not ready; Evaluation loader: every " +
          "request finds its batch ready.|",
      );
      const names = loaderNames(both);
      expect([names.before(0, "Worker 0"), names.before(1, "Main process")]).toEqual([
        "Training loader: worker 0",
        "Evaluation loader: main process",
      ]);
    });

    test("no number of the recorder's is shown", () => {
      expect(htmlOf(drawn({ recorded: both }))).not.toMatch(/[Ll]oader [01]\b/);
    });

    test("they stand in the order of the table when sorted", () => {
      const names = loaderNames(both);
      expect([names.place(1), names.place(0)]).toEqual([0, 1]);
    });
  });

  describe("figures that rest on the batches that were sampled", () => {
    const some = (sampled: number): Recorded => ({
      ...RECORDED,
      sampled: 2 * sampled,
      workers: RECORDED.workers.map((worker) => ({
        ...worker,
        sampled,
        cpu_share: sampled ? worker.cpu_share : null,
        kind: sampled > 1 ? worker.kind : null,
      })),
    });

    test("say so where others were not", () => {
      const hints = hintsOf(drawn({ recorded: some(2) }));
      expect(hints).toContain("; CPU-bound, 95.0 % CPU in 4 sampled batches.");
      expect(hints).toContain("CPU, No core and Limit are of 4 sampled batches of 6.");
      expect(view({ recorded: some(2) })).toContain("|Every worker is CPU-bound|on 4 cores|");
    });

    test("show no limit where they are few", () => {
      const page = view({ recorded: some(1) });
      expect(page).toContain("|What do the workers spend their time on?|on 4 cores|");
      expect(page).toContain("|95.0 %|2.0 %|");
      // There are two such figures for each of two workers.
      expect(
        htmlOf(drawn({ recorded: some(1) })).match(/data-hint="Of 1 of its 3 batches: the others were not sampled"/g),
      ).toHaveLength(4);
    });

    test("are unknown where there is none", () => {
      expect(hintsOf(drawn({ recorded: some(0) }))).toContain(
        "CPU, No core and Limit are not known: no batch was sampled.",
      );
    });

    test("say nothing where all were", () => {
      expect(hintsOf(drawn({ recorded: RECORDED }))).not.toContain("sampled");
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
    const shown = drawn({ recorded: { ...RECORDED, lines: seen } });
    expect(words(shown)).toContain("|About 75 % of batch production is in data.py:41 __getitem__|");
    expect(hintsOf(shown)).toContain("Est. from 48 samples in 12 bursts of the whole recording, because");
    expect(rowsOf(shown, "Lines of the workers")).toMatchObject([
      { Line: "data.py:41 __getitem__", Share: "75 %", "±": "4 %", "A batch": "90.0 ms" },
    ]);
    const why = { code: "too_few_line_samples", values: {} };
    const few = drawn({ recorded: { ...RECORDED, lines: { ...seen, lines: [], whole: false, why } } });
    expect(words(few)).toContain("|Which lines does batch production spend its time in?|not known| |");
    expect(hintsOf(few)).toContain("Too few samples.");
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
    expect(page).toContain("|The slowest batch takes 240.0 ms, the mean one 120.0 ms|");
    expect(rowsOf(drawn({ recorded: RECORDED }), "Slowest batches")).toMatchObject([
      {
        Batch: "9",
        Worker: "0",
        Step: "6",
        Dataset: "200.0 ms",
        Collate: "40.0 ms",
        CPU: "50.0 %",
        Waited: "100.0 ms",
      },
      { Batch: "8", Worker: "1", Step: "–", Dataset: "110.0 ms", Collate: "20.0 ms", CPU: "–", Waited: "0 ms" },
    ]);
  });

  test("a loader in the main process trains between batches and does not wait for requests", () => {
    const lanes = [{ ...RECORDED.lanes[0]!, worker: -1 }];
    const alone = view({
      multiprocess: false,
      recorded: { ...RECORDED, lanes, transfer_ns: 0, ready_ns: 0, workers: [{ ...RECORDED.workers[0]!, worker: -1 }] },
    });
    expect(alone).toContain("|dataset|collate|computes|");
    expect(alone).toContain("|The main process is CPU-bound|");
    expect(alone).not.toContain("Prefetched|0 ms");
  });
});
