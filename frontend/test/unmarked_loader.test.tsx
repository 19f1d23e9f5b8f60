import { renderToString } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import type { DataLoadingResult } from "../src/api.gen";
import { DataLoading, recorderLines } from "../src/views/data_loading/data_loading";
import { loaderPage, noLoaderPage, tab } from "./fixtures/figures";
import { RECORDED, TITLES } from "./fixtures/loading";
import { plain } from "./fixtures/pages";
import { words } from "./fixtures/words";

const MS = 1_000_000;

const NOTHING = noLoaderPage();

/** A recorded loader that a thread reads which the profiler does not record. */
const UNMARKED: DataLoadingResult = {
  ...NOTHING.result,
  unknown: { code: "loader_on_other_thread", values: {} },
  multiprocess: true,
  batch_ns: 120 * MS,
  recorded: { ...RECORDED, consumer_ns: null },
};

const html = (page = loaderPage(UNMARKED, { ...TITLES, steps: plain("Another thread reads it") })): string =>
  renderToString(<DataLoading page={page} tab={tab()} compared={null} />);
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
    expect(page).not.toContain("The training loop waits");
    expect(html()).toContain("What Waited of the reading thread means.");
  });

  test("nobody is given to record what is recorded", () => {
    expect(page).not.toContain("LoaderRecorder");
  });
});

describe("without loader events and without a recorder", () => {
  test("two lines are offered that would record what another thread reads", () => {
    expect(words(html(NOTHING))).toBe(
      "|The trace has no loader events.|Does another thread read a DataLoader?|Copy|" +
        "Two lines of code record how fast its batches are produced and used.| |" +
        `${recorderLines("runs/a")}|`,
    );
  });
});
