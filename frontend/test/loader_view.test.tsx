import { describe, expect, test } from "vitest";
import type { DataLoadingResult, LoaderActivities, PageOf, WaitCauses } from "../src/api.gen";
import { shortName } from "../src/code_line";
import { meaningsOf } from "../src/meanings";
import { DataLoading, recorderLines } from "../src/views/data_loading/data_loading";
import { LOADER, loaderPage, noLoaderPage, tab } from "./fixtures/figures";
import { BURST, RECORDED, TITLES, WORKERS } from "./fixtures/loading";
import { CATALOGUE } from "./fixtures/meanings";
import { plain } from "./fixtures/pages";
import { detailsOf, hintsOf, htmlOf, rowsOf, words } from "./fixtures/words";

const MS = 1_000_000;
type Titles = PageOf<"data_loading">["titles"];
const drawn = (more: Partial<DataLoadingResult> = {}, titles: Titles = {}) => (
  <DataLoading page={loaderPage({ ...WORKERS, ...more }, { ...TITLES, ...titles })} tab={tab()} compared={null} />
);
const view = (more: Partial<DataLoadingResult> = {}, titles: Titles = {}): string => words(drawn(more, titles));
const beside = (result: DataLoadingResult): string => {
  const compared = { name: "b", own: "a", page: loaderPage(result) };
  return words(<DataLoading page={loaderPage(WORKERS, TITLES)} tab={tab()} compared={compared} />);
};
const SHARES = { first_ns: 0, late_ns: 20 * MS, jitter_ns: 0, overhead_ns: 0, others_ns: 0 };
const CAUSES: WaitCauses = { shares: SHARES, starts: null, jitter: null, overhead: null };
const STARTS = {
  batches: 2,
  wait_ns: 80 * MS,
  exposed_ns: 11 * MS,
  setup_ns: 16 * MS,
  respawned: false,
  produced_ns: null,
  steps: ["5"],
};

describe("the view of worker processes", () => {
  test("answers how many workers, then why, then how to see more", () => {
    const page = view();
    const order = ["6 workers would leave a step of 20 ms", "Every third step waits 60 ms.", "Record the workers"];
    expect(order.map((each) => page.indexOf(`|${each}|`)).every((at, which, all) => at > (all[which - 1] ?? -1))).toBe(
      true,
    );
    expect(page).toContain("|Every third step waits 60 ms.| |long wait|usual wait|");
    expect(detailsOf(drawn())).toEqual([
      "Disk and network may allow less.",
      "One wait in 3 takes 60.0 ms, the others 1.0 ms at best. Waits 3 batches apart correlate by 0.9. " +
        "The number of workers is known from the period. If it is not 3, every third batch is slow instead.",
      "Three lines of code record what each worker does. A trace does not show worker processes. The recorder also " +
        "keeps dataset and collate time, CPU time and the slowest batches.",
    ]);
    expect(page).toContain(recorderLines("runs/a"));
  });

  test("says why nothing is predicted, beside the lines that would record it", () => {
    const why = { code: "ambiguous_record_the_workers", values: {} };
    const unsure = { curve: null, why_unknown: why, burst: { ...BURST, period: null, why } };
    expect(view(unsure)).toContain("|Record the workers| |");
    expect(view(unsure)).not.toContain("How many workers are enough?");
    expect(hintsOf(drawn(unsure))).toContain(
      "Ambiguous: record the workers. Three lines of code record what each worker does.",
    );
    expect(hintsOf(drawn(unsure))).not.toContain("One wait in");
    expect(hintsOf(drawn({ ...unsure, burst: null }))).toContain("Ambiguous: record the workers.");
  });

  test("says in place of the curve what no recorder would change", () => {
    const why = { code: "overhead_hidden_by_late_batches", values: {} };
    expect(view({ curve: null, why_unknown: why })).toContain("|How many workers are enough?|not known| |");
    expect(hintsOf(drawn({ curve: null, why_unknown: why }))).toContain("Late batches hide it.");
  });

  test("the picture shows the wait of each step; its table is folded, and not beside another span", () => {
    expect(view()).toContain("|More: the wait of each step|Most of the wait leaves the GPU idle|Step|Wait|");
    const two = { ...BURST, waits: BURST.waits.slice(0, 2) };
    expect(view({ burst: two })).not.toContain("More:");
    expect(view({ burst: two })).toContain("|Most of the wait leaves the GPU idle|Step|Wait|");
  });

  test("a period that is not the workers' is said without a length", () => {
    const burst = { ...BURST, workers: null, workers_from: null, long_wait_ns: null, short_wait_ns: null };
    expect(detailsOf(drawn({ burst }, { burst_check: plain("") }))).toContain(
      "Waits 3 batches apart correlate by 0.9.",
    );
    expect(
      detailsOf(drawn({ burst: { ...BURST, short_wait_ns: null } }, { burst_pace: plain("The pace.") })),
    ).toContain(
      "The pace. One wait in 3 takes 60.0 ms. Waits 3 batches apart correlate by 0.9. The number of " +
        "workers is known from the period. If it is not 3, every third batch is slow instead.",
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
      "|7 waits take 50.0 ms instead of 1.0 ms, without a period, in steps 1, 2, 3, 4, 5 and 2 " +
        "more; the cost is |4.0 ms| a step.|",
    );
    expect(view({ causes: { ...CAUSES, jitter: { ...jitter, long_count: 1, steps: ["3"] } } })).toContain(
      "|1 wait takes 50.0 ms instead of 1.0 ms, without a period, in step 3; the cost is |4.0 ms| a step.|",
    );
  });

  const LOOP = { iterator: "It", batches: 24, wait_ns: 30 * MS, exposed_ns: 20 * MS, hidden_ns: 10 * MS };

  test("several loaders are told apart; of one the first batch is said", () => {
    const loader = { ...LOOP, label: "training", multiprocess: true, first_batches: 1, first_batch_ns: 800 * MS };
    const two = drawn({ loaders: [loader, { ...loader, label: "evaluation", first_batch_ns: null }] });
    expect(words(two)).toContain("|Which of the 2 loaders do the steps wait for?|a batch|");
    expect(rowsOf(two, "Loaders")).toMatchObject([
      { Loader: "training", Batches: "24", Exposed: "20.0 ms", First: "800.0 ms" },
      { Loader: "evaluation", Batches: "24", Exposed: "20.0 ms", First: "–" },
    ]);
    expect(view({ loaders: [loader] })).toContain(
      "|The first batch of an epoch takes |800.0 ms|, with the start of the workers.| |",
    );
    expect(detailsOf(drawn({ loaders: [loader] }))).toContain("Figures per batch leave it out.");
  });

  test("a loader in the main process starts no workers", () => {
    const loader = { ...LOOP, label: "Loader", multiprocess: false, first_batches: 2, first_batch_ns: 80 * MS };
    const sentence = "|2 first batches of epochs take |80.0 ms| each.| |";
    expect(view({ loaders: [loader] })).toContain(sentence);
    const causes = { ...CAUSES, starts: STARTS };
    expect(view({ loaders: [{ ...loader, multiprocess: true }], causes })).toContain(sentence); // they stay
  });

  test("the exposed wait is shared out where it is for several things", () => {
    const shares = { first_ns: 11 * MS, late_ns: 9 * MS, jitter_ns: 0, overhead_ns: 1 * MS, others_ns: 2 * MS };
    const causes = { ...CAUSES, shares, starts: STARTS };
    const mean = (exposed: number) => ({ ...WORKERS.mean!, exposed_ns: exposed * MS });
    expect(view({ causes, mean: mean(23) })).toContain(
      "|Exposed a step: |9.0 ms| for late batches, |11.0 ms| for 2 starts of epochs, |" +
        "1.0 ms| for receiving batches and |2.0 ms| for other loaders. New iterators take another " +
        "16.0 ms before they are asked for a batch.|",
    );
    expect(view({ causes, mean: mean(30) })).toContain(
      "|2.0 ms| for other loaders; 7.0 ms are left out of the verdict.",
    );
    const alone = { ...causes, shares: { ...shares, late_ns: 0, overhead_ns: 0, others_ns: 0 } };
    expect(view({ causes: alone })).not.toContain("Exposed a step");
  });

  test("below the curve stands what each of its points holds", () => {
    expect(view({}, { curve_epochs: plain("In each step: 11 ms for epochs that begin.") })).toContain(
      "|6 workers would leave a step of 20 ms| |In each step: 11 ms for epochs that begin.|",
    );
  });

  test("what receiving costs is a figure with its source, or a reason", () => {
    const why = { code: "overhead_hidden_by_late_batches", values: {} };
    const overhead = {
      ns: 3 * MS,
      exposed_ns: 1 * MS,
      gain_ns: 0,
      source: "recorder" as const,
      why: null,
      sampler_ns: null,
    };
    expect(view({ causes: { ...CAUSES, overhead } })).toContain("|Receiving a ready batch takes |3.0 ms|.| |");
    expect(detailsOf(drawn({ causes: { ...CAUSES, overhead } }))).toContain(
      "It is recorded. With pauses of the CPU it adds 1.0 ms to the mean step.",
    );
    expect(view({ causes: { ...CAUSES, overhead: { ...overhead, ns: null, why } } })).toContain(
      "|Late batches hide it.|",
    );
  });

  test("next to another span each step says how much more of it is exposed", () => {
    const page = beside({ ...WORKERS, steps: WORKERS.steps.map((step) => ({ ...step, exposed_ns: 0 })) });
    expect(page).toContain("|vs b|");
    const first = WORKERS.steps[0]!;
    expect(first.exposed_ns).toBeGreaterThan(0);
    expect(page).toContain(`|+${(first.exposed_ns / MS).toFixed(1)} ms|`);
  });

  test("another span has its point where its number of workers is known, and a line where it is not", () => {
    const unknown = "|b measured 150.0 ms; its trace does not show the number of workers.|";
    expect(beside({ ...WORKERS, curve: null, burst: { ...BURST, workers: null } })).toContain(unknown);
    const known = beside({ ...WORKERS, curve: null });
    expect(known).not.toContain(unknown);
    expect(known).toContain("|b measured 150.0 ms with 3 workers.|");
  });
});

describe("a loader in the main process", () => {
  const shown = (more: Partial<LoaderActivities> = {}, titles: Titles = {}) => {
    const activities = { ...LOADER.activities!, ...more };
    return <DataLoading page={loaderPage({ ...LOADER, activities }, titles)} tab={tab()} compared={null} />;
  };
  const alone = (more: Partial<LoaderActivities> = {}, titles: Titles = {}): string => words(shown(more, titles));
  const [python, op] = LOADER.activities!.rows;
  const lines = [
    { line: "torchvision/transforms/functional.py(138): to_tensor", ns_per_batch: 7 * MS },
    { line: "data.py(3): crop", ns_per_batch: 2 * MS },
  ];

  test("has the line of each activity that a call stack shows, the longest first", () => {
    expect(rowsOf(shown({ rows: [python!, { ...op!, lines }] }), "What the loader does")).toMatchObject([
      { Activity: "Python, no op", Line: "–", "A batch": "40.0 ms" },
      { Activity: "aten::to", Line: "70 % in functional.py:138 to_tensor", "A batch": "10.0 ms" },
      { Activity: "4 more", "A batch": "5.0 ms" },
    ]);
  });

  test("all lines of an activity are on hover, with their paths and times", () => {
    expect(htmlOf(shown({ rows: [{ ...op!, lines }] }))).toContain(
      'data-hint="torchvision/transforms/functional.py:138 to_tensor, 7.0 ms\ndata.py:3 crop, 2.0 ms"',
    );
  });

  test("has no column of dashes where no line is known, but the reason", () => {
    const missing = {
      template: "Lines are not known. {setting} shows them.",
      values: { setting: { value: "with_stack=True", unit: "code" as const } },
    };
    expect(alone({}, { lines_missing: missing })).toContain(
      "|Activity|A batch|Python, no op|40.0 ms|aten::to|10.0 ms|4 more|5.0 ms|",
    );
    expect(hintsOf(shown({}, { lines_missing: missing }))).toContain(
      "without the activities inside it. Lines are not known. with_stack=True shows them.",
    );
  });

  test("lines of the user are told apart by what stands at their end", () => {
    expect(alone({ slow_lines: lines })).toContain(
      "|A batch spends 7.0 ms in functional.py:138 to_tensor| |Line|A batch|functional.py:138 " +
        "to_tensor|7.0 ms|data.py:3 crop|2.0 ms|",
    );
    expect(shortName("<built-in function sleep>")).toBe("<built-in function sleep>");
  });
});

const NOTHING = noLoaderPage();

/** A recorded loader that a thread reads which the profiler does not record. */
const UNMARKED: DataLoadingResult = {
  ...NOTHING.result,
  unknown: { code: "loader_on_other_thread", values: {} },
  multiprocess: true,
  batch_ns: 120 * MS,
  recorded: { ...RECORDED, consumer_ns: null },
};

const html = (
  page = loaderPage(UNMARKED, { ...TITLES, steps: plain("Another thread reads it") }),
  of = tab(),
): string => htmlOf(<DataLoading page={page} tab={of} compared={null} />);

describe("a loader that a thread reads of which no trace says", () => {
  const page = words(html());

  test("shows what is recorded, below the reason why no wait is given", () => {
    const order = [
      "Another thread reads it|What the loop waits for does not show.|The workers are busy half of the time|",
      "|Most of a batch is the dataset|",
      "|Every worker is CPU-bound|",
      "|The slowest batch takes 240.0 ms",
    ];
    expect(order.map((each) => page.indexOf(each)).every((at, which, all) => at > (all[which - 1] ?? -1))).toBe(true);
  });

  test("its waits are those of that thread, nowhere those of the training loop", () => {
    expect(page).toContain("|The reading thread waits|20.0 ms|");
    expect(page).not.toContain("The loop waits");
    const figures = CATALOGUE.figures.map((each) => ({ ...each, meaning: each.id }));
    const named = { ...tab(), meanings: meaningsOf({ ...CATALOGUE, figures }) };
    expect(html(undefined, named)).toContain("batch_reader_wait_ns");
  });

  test("nobody is given to record what is recorded", () => {
    expect(page).not.toContain("LoaderRecorder");
  });
});

describe("without loader events and without a recorder", () => {
  test("two lines are offered that would record what another thread reads", () => {
    expect(words(html(NOTHING))).toBe(
      `|Record a DataLoader that another thread reads| |${recorderLines("runs/a")}|Copy|`,
    );
  });
});
