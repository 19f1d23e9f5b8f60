import { renderToString } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import { binsPerPixel, maxOf, meanOf } from "../src/charts/time/time_bins";
import { blockingKey, madeBy, matching } from "../src/views/host/blocking";
import { Host } from "../src/views/host/host";
import { areaPath, carried, peakPath } from "../src/views/host/queue";
import { linesOf, openAtFirst } from "../src/views/host/ranges";
import { barsOfPhases, barsOfSteps, hiddenReasons, idleOf, withToggled } from "../src/views/host/reasons";
import { verdictsDiffer } from "../src/views/host/sites";
import { all } from "./fixtures/all";
import { BLOCKING, hostPage, hostTab, idle, MS, RESULT, range } from "./fixtures/host";
import { words } from "./fixtures/words";

const draw = (result = RESULT, state = {}): string =>
  words(<Host page={hostPage(result)} tab={hostTab(state)} compared={null} />);

describe("idle time", () => {
  test("sums over its reasons", () => {
    expect(idleOf(idle({ cpu_work: 3, tail: 4 }))).toBe(7);
  });

  test("is drawn per step or per phase", () => {
    expect(barsOfSteps(RESULT).map(({ name }) => name)).toEqual(["4", "5", "6"]);
    expect(barsOfPhases(RESULT).map(({ name, idle: of }) => [name, idleOf(of)])).toEqual([
      ["Forward", 90.8 * MS],
      ["Backward", 64.9 * MS],
      ["Optimizer", 14 * MS],
    ]);
    expect(draw(RESULT, { idle: "phase" })).toContain("|Step|Phase|");
  });

  test("verdicts differ only among what launches", () => {
    const bounds = new Map([
      ["forward", "host"],
      ["backward", "host"],
      ["optimizer", "gpu"],
    ]);
    expect(verdictsDiffer(RESULT.sites, bounds)).toBe(true);
    expect(
      verdictsDiffer(
        RESULT.sites.map((site) => (site.phase === "optimizer" ? { ...site, launches: 0 } : site)),
        bounds,
      ),
    ).toBe(false);
  });
});

describe("the tree of ranges", () => {
  const names = (open: ReadonlySet<string>) =>
    linesOf(RESULT.ranges, open).map(
      (line) => `${" ".repeat(line.depth)}${line.name}${line.inside > 0 ? (line.open ? " -" : " +") : ""}`,
    );

  test("closed branches hide what is inside, the longest stands first", () => {
    expect(names(new Set())).toEqual(["forward +", "backward"]);
    expect(names(new Set(["forward"]))).toEqual(["forward -", " decoder", " encoder +", "backward"]);
  });

  test("few ranges are open at first, many are not", () => {
    expect(names(openAtFirst(RESULT.ranges, 5))).toEqual([
      "forward -",
      " decoder",
      " encoder -",
      "  attention",
      "backward",
    ]);
    expect(openAtFirst(RESULT.ranges, 4).size).toBe(0);
  });

  test("a range whose surroundings were folded away stands under the nearest that was not", () => {
    expect(
      linesOf([range(["a"], 9), range(["a", "b", "c"], 2), range(["x", "y"], 1)], new Set(["a"])).map(
        ({ name, depth }) => [name, depth],
      ),
    ).toEqual([
      ["a", 0],
      ["c", 1],
      ["y", 0],
    ]);
  });
});

describe("blocking calls", () => {
  test("are found by op, call, place and maker", () => {
    const found = (typed: string) => matching([BLOCKING], typed).length;
    expect(
      ["", "ITEM", "synchronize", "backward.nodes", "encoder", "train.py(41)", "train.py:41", "cudaFree"].map(found),
    ).toEqual([1, 1, 1, 1, 1, 1, 1, 0]);
  });

  test("name the forward line before the module, and their own line where there is none", () => {
    expect(madeBy(BLOCKING)).toEqual(["train.py(41): forward", "Encoder_0", "forward aten::sparse_mm", "backward"]);
    expect(
      madeBy({
        ...BLOCKING,
        ...all(null, "forward_op forward_module forward_source user_range"),
        source: "a.py(1): f",
      }),
    ).toEqual(["a.py(1): f"]);
  });

  test("of two GPUs have two keys", () => {
    expect(blockingKey(BLOCKING)).not.toBe(blockingKey({ ...BLOCKING, device: 1 }));
  });
});

describe("paths of the queue", () => {
  const level = { start: 0, bin: 10, values: [0, 2, null, 4] };

  test("leave out what is empty, and end with the window", () => {
    const [x, y] = [(at: number) => at, (value: number) => 10 - value];
    expect(areaPath(level, 15, 35, x, y, 10)).toBe("M15.0 10V8.0H20.0V10zM30.0 10V6.0H35.0V10z");
    expect(peakPath(level, 0, 40, x, y, 10)).toBe("M15.0 10V8.0M35.0 10V6.0");
  });
});

describe("bins of a pixel", () => {
  const levels = [
    { start: 0, bin: 40, values: [2, 4] },
    { start: 0, bin: 10, values: [1, null, 3, 2, 9, 3, 4, 0] },
  ];

  test("join finer ones, means and peaks each in their way", () => {
    expect(binsPerPixel(levels, 0, 80, 4, meanOf)).toEqual({ start: 0, bin: 20, values: [1, 2.5, 6, 2] });
    expect(binsPerPixel(levels, 0, 80, 4, maxOf)).toEqual({ start: 0, bin: 20, values: [1, 3, 9, 4] });
  });

  test("are as coarse as they come where those are fine enough, and the finest where none is", () => {
    expect(binsPerPixel(levels, 0, 80, 2, meanOf)).toBe(levels[0]);
    expect(binsPerPixel(levels, 0, 20, 20, meanOf)).toBe(levels[1]);
  });

  test("short gaps take the value before them, long ones and the ends stay", () => {
    const bins = { start: 0, bin: 1, values: [null, 5, null, null, 7, null, null, null, 2, null] };
    expect(carried(bins, 2).values).toEqual([null, 5, 5, 5, 7, null, null, null, 2, null]);
  });

  test("begin with the window, at a whole join", () => {
    expect(binsPerPixel(levels, 35, 75, 2, maxOf)).toEqual({ start: 20, bin: 20, values: [3, 9, 4] });
    expect([meanOf([null, null]), maxOf([null])]).toEqual([null, null]);
  });
});

describe("what is hidden in both pictures", () => {
  const { segments } = RESULT;

  test("a reason is hidden with the last of its segments", () => {
    expect([...hiddenReasons(segments, new Set(["kernel", "cpu_forward"]))]).toEqual([]);
    expect([...hiddenReasons(segments, new Set(["cpu_backward", "cpu_forward", "launch_latency"]))]).toEqual([
      "cpu_work",
      "launch_latency",
    ]);
    // although it has no length
    expect([...hiddenReasons(segments, new Set(["data_loading"]))]).toEqual(["data_loading"]);
  });

  test("a press on a reason hides or shows all of its segments, and no other", () => {
    const hidden = withToggled(segments, "cpu_work", new Set(["kernel", "cpu_forward"]));
    expect([...hidden].sort()).toEqual(["cpu_backward", "cpu_forward", "kernel"]);
    expect([...withToggled(segments, "cpu_work", hidden)]).toEqual(["kernel"]);
  });

  test("the pictures take what is hidden from each other", () => {
    const hollow = (...off: string[]) =>
      (
        renderToString(<Host page={hostPage()} tab={hostTab({ off: new Set(off) })} compared={null} />).match(
          /class="off"/g,
        ) ?? []
      ).length;
    expect(hollow()).toBe(0);
    expect(hollow("cpu_forward")).toBe(1);
    expect(hollow("cpu_forward", "cpu_backward")).toBe(3);
  });
});
